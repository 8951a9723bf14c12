/** The page that shows the picture of a plan. Knows nothing of VS Code. */

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? "");
}

/**
 * The page of a plan. The picture is an image and not a part of the page: whatever stood in it, a browser runs no
 * script of an image and loads nothing for it. Nor does the policy allow anything else. `style` is the nonce of the
 * page's own style.
 */
export function page(svg: string, style: string): string {
  const description = /<desc[^>]*>([^<]*)<\/desc>/.exec(svg)?.[1] ?? ""; // which is escaped already
  const data = Buffer.from(svg).toString("base64");
  return document(style, `<img alt="${description.replaceAll('"', "&quot;")}" src="data:image/svg+xml;base64,${data}">`);
}

/** The page that says why there is no plan. */
export function failure(message: string, style: string): string {
  return document(style, `<p>${escaped(message)}</p>`);
}

function document(style: string, body: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'nonce-${style}'">
<style nonce="${style}">
body { color-scheme: light dark; }
body.vscode-light, body.vscode-high-contrast-light { color-scheme: light; }
body.vscode-dark, body.vscode-high-contrast:not(.vscode-high-contrast-light) { color-scheme: dark; }
img { max-width: 100%; }
</style>
</head>
<body>
${body}
</body>
</html>
`;
}
