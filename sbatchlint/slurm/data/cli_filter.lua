-- cli_filter.lua: sbatchlint for all users of a cluster.
--
-- It stands beside slurm.conf on every machine where people submit, and slurm.conf says
-- CliFilterPlugins=cli_filter/lua. It runs inside sbatch, as the user, before anything reaches the controller. It shows
-- the worst finding of the script in three lines, and keeps back what Slurm would refuse, or what would die, hang or
-- compute something else.
--
-- It never keeps a job back because sbatchlint is missing, slow, broken or killed. SBATCHLINT_FORCE=1 submits whatever
-- is found; `sbatchlint submit`, which has linted the script by then, is not linted again.

local PROGRAM = "sbatchlint" -- or a full path, so that the PATH of the user does not decide
local REFUSE = "error" -- from which severity on a job is kept back: error, warning, info or never
local SECONDS = 5 -- after so long the job is submitted as it is
local MORE = "" -- more options of `sbatchlint submit`, such as "--lint-site=/etc/slurm/site.toml"

local function quoted(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- The words of this sbatch, and the name by which it was called; nil where the system does not tell.
local function command_line()
    local file = io.open("/proc/self/cmdline", "rb")
    if file == nil then
        return nil
    end
    local text = file:read("*a") or ""
    file:close()
    local name, words = nil, {}
    for word in text:gmatch("(%Z*)%z") do
        if name == nil then
            name = word
        else
            words[#words + 1] = quoted(word)
        end
    end
    return name, table.concat(words, " ")
end

local function linted()
    local name, words = command_line()
    if name == nil or name == "sbatchlint/sbatch" then
        return slurm.SUCCESS
    end
    local command = string.format(
        "{ timeout -k 1 %d %s submit --lint-only --lint-brief --lint-refuse=%s --lint-time=%d %s %s; echo \"exit $?\"; }"
            .. " </dev/null 2>&1",
        SECONDS + 1, quoted(PROGRAM), REFUSE, SECONDS, MORE, words
    )
    local pipe = io.popen(command, "r")
    if pipe == nil then
        return slurm.SUCCESS
    end
    local refused = false
    local code = nil
    local lines = {}
    for line in pipe:lines() do
        if line:sub(1, 12) == "sbatchlint: " then
            lines[#lines + 1] = line
            refused = refused or line:sub(1, 26) == "sbatchlint: not submitted "
        end
        code = line:match("^exit (%d+)$")
    end
    pipe:close()
    if code ~= "0" and code ~= "1" then
        return slurm.SUCCESS -- it is missing, or took too long
    end
    for number = 1, math.min(#lines, 3) do
        io.stderr:write(lines[number], "\n")
    end
    if refused and code == "1" then
        return slurm.ERROR
    end
    return slurm.SUCCESS
end

function slurm_cli_setup_defaults(options, early_pass)
    return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
    if options["type"] ~= "sbatch" or offset ~= 0 then
        return slurm.SUCCESS
    end
    local ran, verdict = pcall(linted)
    return ran and verdict or slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
    return slurm.SUCCESS
end
