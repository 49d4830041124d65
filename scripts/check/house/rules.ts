import { posix } from 'node:path'
import { type Node, parseSync, Visitor } from 'oxc-parser'
import { hasProseFindings, isOpenedByQuestion, isSentence, type Passage, wordsIn } from './prose.ts'

/** A file of the checkout, by its path below the root. */
export interface CheckedFile {
  path: string
  text: string
}

/** A place where a rule is broken; `scope` is the folder, or the table, for which the ratchet counts. */
export interface Finding {
  rule: string
  scope: string
  path: string
  line: number
}

const LINE_MAX = 120
const LOOSE_FILES_MAX = 28
/** Layers whose loose files are named after nouns of the API. */
const NOUN_LAYERS = [
  'shared/wire',
  'gateway/api',
  'gateway/services',
  'gateway/store/tables',
  'cloud-sync/hub/api',
  'cloud-sync/hub/store',
]
const NOUNS_MAX = 40
const TABLE_FILES_MAX = 3

const isCode = ({ path }: CheckedFile) => /\.(?:tsx?|mjs)$/.test(path)
const isTest = (path: string) => /\.test\.tsx?$|(?:^|\/)testing\//.test(path)

/** All places where `files` break a rule of the house, in the order of the rules. */
export function findingsIn(files: readonly CheckedFile[]): Finding[] {
  return [
    ...files.filter(isCode).flatMap(literalSpreads),
    ...files.flatMap(longLines),
    ...looseFiles(files.filter((file) => isCode(file) && !/\.test\.tsx?$/.test(file.path))),
    ...files.filter(({ path }) => !isTest(path)).flatMap(prose),
    ...tablesInManyFiles(files.filter((file) => isCode(file) && !isTest(file.path))),
  ]
}

/** `...{ a }`, `...[x]` and `...([x] as const)` keep lines together that the formatter should wrap. */
function literalSpreads(file: CheckedFile): Finding[] {
  if (!/\.\.\.[\s(]*[[{]/.test(file.text)) return []
  const places: number[] = []
  const visitor = new Visitor({
    SpreadElement: ({ argument, start }) => {
      if (['ArrayExpression', 'ObjectExpression'].includes(unwrapped(argument).type)) places.push(start)
    },
    JSXSpreadAttribute: ({ argument, start }) => {
      if (unwrapped(argument).type === 'ObjectExpression') places.push(start)
    },
  })
  visitor.visit(parseSync(file.path, file.text).program)
  return places.map((at) => finding('spread of a literal', file, at))
}

function unwrapped(node: Node): Node {
  const isWrapper = node.type === 'TSAsExpression' || node.type === 'TSSatisfiesExpression'
  return isWrapper || node.type === 'ParenthesizedExpression' ? unwrapped(node.expression) : node
}

/** Tables of documents and addresses cannot be wrapped; decisions.test.ts has the form of DECISIONS.md. */
function longLines({ path, text }: CheckedFile): Finding[] {
  if (path === 'DECISIONS.md') return []
  const isTableOfDocument = (line: string) => path.endsWith('.md') && line.startsWith('|')
  return text.split('\n').flatMap((line, i) => {
    const isLong = line.length > LINE_MAX && !/https?:\/\//.test(line) && !isTableOfDocument(line)
    return isLong ? [{ rule: `longer than ${LINE_MAX}`, scope: scopeOf(path), path, line: i + 1 }] : []
  })
}

/** A folder with more loose files needs a room. */
function looseFiles(files: readonly CheckedFile[]): Finding[] {
  const folders = Map.groupBy(files, ({ path }) => posix.dirname(path))
  return [...folders].flatMap(([folder, loose]) => {
    const isTooFull = loose.length > (NOUN_LAYERS.includes(folder) ? NOUNS_MAX : LOOSE_FILES_MAX)
    return isTooFull ? loose.map(({ path }) => ({ rule: 'loose files', scope: folder, path, line: 1 })) : []
  })
}

function prose(file: CheckedFile): Finding[] {
  if (!hasProseFindings(file.path, file.text)) return []
  const { comments, strings } = isCode(file)
    ? readPassages(file)
    : { comments: [{ at: 0, text: file.text }], strings: [] }
  return [
    ...[...comments, ...strings.filter(({ text }) => isSentence(text))]
      .flatMap((passage) => wordsIn(file.path, passage))
      .map(({ word, write, at }) => finding(`word "${word}" (write ${write})`, file, at)),
    ...comments.filter(isOpenedByQuestion).map(({ at }) => finding('first word of a docstring', file, at)),
  ]
}

function readPassages({ path, text }: CheckedFile): { comments: Passage[]; strings: Passage[] } {
  const { comments, program } = parseSync(path, text)
  const strings: Passage[] = []
  // a template has its backticks, which would hide it as quoted code
  const add = ({ start, end }: Node) =>
    void strings.push({ at: start, text: text.slice(start, end).replaceAll(/^[`}]|`$/g, ' ') })
  new Visitor({ Literal: add, TemplateElement: add, JSXText: add }).visit(program)
  return {
    comments: comments.map(({ start, end }) => ({ at: start, text: text.slice(start, end) })),
    strings,
  }
}

const SQL_NAME = /\b(?:FROM|JOIN|INTO|UPDATE(?: OR \w+)?|TABLE(?: IF (?:NOT )?EXISTS)?)\s+(\w+)/g

/** Files of the store, services and offline programs that name a table in SQL, where they are more than three. */
function tablesInManyFiles(files: readonly CheckedFile[]): Finding[] {
  const isDeclaration = ({ path }: CheckedFile) => path.startsWith('gateway/store/tables/')
  const declared = (text: string) => [...text.matchAll(/\btable\('(\w+)'/g)].map(([, name = '']) => name)
  const tables = new Set(files.filter(isDeclaration).flatMap(({ text }) => declared(text)))
  const uses = files
    .filter(({ path }) => /^gateway\/(?:store|services|offline)\//.test(path))
    .flatMap((file) =>
      [...tablesInSql(file)].filter((name) => tables.has(name)).map((name) => ({ name, path: file.path })),
    )
  return [...Map.groupBy(uses, ({ name }) => name)]
    .filter(([, paths]) => paths.length > TABLE_FILES_MAX)
    .flatMap(([scope, paths]) => paths.map(({ path }) => ({ rule: 'files that name a table', scope, path, line: 1 })))
}

function tablesInSql(file: CheckedFile): Set<string> {
  if (file.text.search(SQL_NAME) < 0) return new Set()
  const { strings } = readPassages(file)
  return new Set(strings.flatMap(({ text }) => [...text.matchAll(SQL_NAME)].map(([, name = '']) => name)))
}

function finding(rule: string, { path, text }: CheckedFile, at: number): Finding {
  return { rule, scope: scopeOf(path), path, line: text.slice(0, at).split('\n').length }
}

/** `gateway/store` for all that lies in it, `docs`, or the name of a document at the root. */
function scopeOf(path: string): string {
  const folders = path.split('/').slice(0, -1)
  return folders.length === 0 ? path : folders.slice(0, 2).join('/')
}
