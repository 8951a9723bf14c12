// As much of the module `vscode` as the extension and its client use. What is not here is there as an empty class, or
// as a function that registers nothing. `shown` and `handlers` are what a user would see, and what VS Code would call.
"use strict";
const { pathToFileURL, fileURLToPath } = require("node:url");

class Disposable {
  constructor(dispose = () => {}) {
    this.dispose = dispose;
  }
  static from(...each) {
    return new Disposable(() => each.forEach((one) => one.dispose()));
  }
}

class EventEmitter {
  listeners = new Set();
  event = (listener, self) => {
    const bound = listener.bind(self);
    this.listeners.add(bound);
    return new Disposable(() => this.listeners.delete(bound));
  };
  async fire(value) {
    for (const listener of [...this.listeners]) {
      await listener(value);
    }
  }
  dispose() {
    this.listeners.clear();
  }
}

class Uri {
  constructor(url) {
    this.url = new URL(url);
  }
  static file = (path) => new Uri(pathToFileURL(path));
  static parse = (text) => new Uri(text);
  get scheme() {
    return this.url.protocol.slice(0, -1);
  }
  get path() {
    return decodeURIComponent(this.url.pathname);
  }
  get fsPath() {
    return this.scheme === "file" ? fileURLToPath(this.url) : this.path;
  }
  toString() {
    return this.url.href;
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(...places) {
    const [start, end] = places.length === 4 ? [new Position(places[0], places[1]), new Position(places[2], places[3])] : places;
    Object.assign(this, { start, end });
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

class TextEdit {
  constructor(range, newText) {
    Object.assign(this, { range, newText });
  }
}

class WorkspaceEdit {
  edits = [];
  set(uri, edits) {
    this.edits.push([uri, edits]);
  }
  replace(uri, range, newText) {
    this.edits.push([uri, [new TextEdit(range, newText)]]);
  }
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() };
  cancel() {}
  dispose() {}
}

class CancellationError extends Error {}

class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  static Empty = new CodeActionKind("");
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
}

/** An object that has an event for each name `onDid…` and `onWill…`, and otherwise functions that register nothing. */
function namespace(known) {
  return new Proxy(known, {
    get(target, name) {
      if (!(name in target)) {
        target[name] = /^on(Did|Will)/.test(String(name)) ? event(String(name)) : () => new Disposable();
      }
      return target[name];
    },
  });
}

const emitters = new Map();

function emitter(name) {
  if (!emitters.has(name)) {
    emitters.set(name, new EventEmitter());
  }
  return emitters.get(name);
}

function event(name) {
  return (...args) => emitter(name).event(...args);
}

const shown = { messages: [], log: [], panels: [], edits: [], languages: [], status: [] };
const handlers = new Map();
const settings = new Map();
const diagnostics = new Map();

function message(text) {
  shown.messages.push(text);
  return Promise.resolve(undefined);
}

const channel = new Proxy(
  { name: "sbatchlint", dispose() {}, show() {}, append: (text) => shown.log.push(text) },
  { get: (target, name) => target[name] ?? ((...words) => shown.log.push(`${words.join(" ")}\n`)) },
);

const window = namespace({
  activeTextEditor: undefined,
  visibleTextEditors: [],
  tabGroups: { all: [], onDidChangeTabs: event("onDidChangeTabs") },
  createOutputChannel: () => channel,
  showErrorMessage: message,
  showWarningMessage: message,
  showInformationMessage: message,
  createWebviewPanel(type, title, place, options) {
    const closed = new EventEmitter();
    const panel = { type, title, place, options, webview: { html: "" }, onDidDispose: closed.event, reveal() {}, closed };
    shown.panels.push(panel);
    return panel;
  },
});

const workspace = namespace({
  isTrusted: true,
  workspaceFolders: [],
  textDocuments: [],
  notebookDocuments: [],
  getConfiguration: (section) => ({
    get: (name, standard) => settings.get(section ? `${section}.${name}` : name) ?? standard,
    inspect: () => undefined,
  }),
  getWorkspaceFolder: () => undefined,
  openTextDocument: (uri) => Promise.resolve(workspace.textDocuments.find((each) => each.uri.toString() === uri.toString())),
  createFileSystemWatcher: () =>
    namespace({ dispose() {}, onDidCreate: event("create"), onDidChange: event("change"), onDidDelete: event("delete") }),
  applyEdit(edit) {
    shown.edits.push(edit);
    return Promise.resolve(true);
  },
});

const languages = namespace({
  createDiagnosticCollection: () => ({
    set: (uri, found) => diagnostics.set(uri.toString(), found),
    delete: (uri) => diagnostics.delete(uri.toString()),
    clear: () => diagnostics.clear(),
    dispose: () => diagnostics.clear(),
  }),
  createLanguageStatusItem(id, selector) {
    const item = { id, selector, dispose() {} };
    shown.status.push(item);
    return item;
  },
  match: (selector, document) =>
    [selector].flat().some(({ language, scheme }) => language === document.languageId && scheme === document.uri.scheme)
      ? 10
      : 0,
  setTextDocumentLanguage(document, language) {
    shown.languages.push([document.fileName, language]);
    return Promise.resolve(document);
  },
});

const commands = namespace({
  registerCommand(name, handler) {
    handlers.set(name, handler);
    return new Disposable(() => handlers.delete(name));
  },
  executeCommand: (name, ...args) => Promise.resolve(handlers.get(name)?.(...args)),
});

const module_ = {
  version: "1.82.0", env: namespace({ appName: "a test", language: "en" }), window, workspace, languages, commands,
  extensions: { all: [], getExtension: () => undefined },
  Disposable, EventEmitter, Uri, Position, Range, Diagnostic, TextEdit, WorkspaceEdit, CancellationTokenSource,
  CancellationError, CodeActionKind,
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  LanguageStatusSeverity: { Information: 0, Warning: 1, Error: 2 },
  ViewColumn: { Beside: -2 },
};

/** A document as VS Code would have it open. */
function document(file, languageId, text) {
  const lines = () => made.text.split("\n");
  const made = {
    uri: Uri.file(file), fileName: file, languageId, version: 1, text, isClosed: false, isDirty: false, eol: 1,
    getText: () => made.text,
    get lineCount() {
      return lines().length;
    },
    lineAt: (line) => ({ text: lines()[line], range: new Range(new Position(line, 0), new Position(line, lines()[line].length)) }),
  };
  return made;
}

const stub = new Proxy(module_, {
  get(target, name) {
    if (typeof name === "string" && /^[A-Z]/.test(name) && !(name in target)) {
      target[name] = class {};
    }
    return target[name];
  },
});

module.exports = { stub, shown, handlers, settings, diagnostics, document, emitter };
