import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { parseSync } from 'oxc-parser'
import { type Aliases, type ImportRule, readAliases, readImportTable } from './import-table.ts'

/** File and the modules that it imports, types included. */
export interface SourceFile {
  path: string
  imports: readonly { specifier: string; line: number }[]
}

/** Reads the imports and re-exports of a TypeScript or JavaScript file, literal `import()` included. */
export function parseImports(path: string, text: string): SourceFile {
  const { module } = parseSync(path, text)
  const requests = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest),
    ...module.staticExports.flatMap(({ entries }) => entries.map(({ moduleRequest }) => moduleRequest)),
    ...module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => literalAt(text, start, end)),
  ]
  const seen = new Map<string, number>()
  for (const request of requests) {
    if (request === null || seen.has(request.value)) continue
    seen.set(request.value, text.slice(0, request.start).split('\n').length)
  }
  return { path, imports: [...seen].map(([specifier, line]) => ({ specifier, line })) }
}

function literalAt(text: string, start: number, end: number): { value: string; start: number }[] {
  const [, value] = /^(['"])(.*)\1$/.exec(text.slice(start, end))?.slice(1) ?? []
  return value === undefined ? [] : [{ value, start }]
}

/** Findings about the imports of `files`, one line each; empty if all imports are allowed. */
export class ImportCheck {
  readonly #rules: readonly ImportRule[]
  readonly #aliases: Aliases

  constructor(rules: readonly ImportRule[], aliases: Aliases) {
    this.#rules = rules
    this.#aliases = aliases
  }

  /** Reads the rules of a checkout. */
  static of(root: string): ImportCheck {
    const aliases = readAliases(root)
    return new ImportCheck(readImportTable(root, aliases), aliases)
  }

  /** Excludes tests from the search for circular imports: no file imports them. */
  findings(files: readonly SourceFile[]): string[] {
    const product = files.filter(({ path }) => !path.endsWith('.test.ts'))
    return [
      ...files.flatMap((file) => this.#forbidden(file)),
      ...circles(this.#graph(product, (path) => path)).map(
        (circle) => `files import each other in a circle: ${circle}`,
      ),
      ...circles(this.#graph(product, (path) => this.#roomOf(path))).map(
        (circle) => `rooms import each other in a circle: ${circle}`,
      ),
    ]
  }

  #forbidden({ path, imports }: SourceFile): string[] {
    const rule = this.ruleFor(path)
    if (rule === undefined) return [`${path}: no line of the table in AGENTS.md is about this folder`]
    return imports.flatMap(({ specifier, line }) => {
      const reason = this.#objection(path, rule, specifier)
      return reason === null ? [] : [`${path}:${line}: ${specifier}: ${reason}`]
    })
  }

  #objection(path: string, rule: ImportRule, specifier: string): string | null {
    const target = this.#targetOf(path, specifier)
    const home = this.#folderOf(path)
    if (target === null) return allowsPackage(rule, specifier) ? null : `not among what ${rule.files} may import`
    const folder = this.#folderOf(target)
    if (folder === undefined) return 'no line of the table in AGENTS.md is about its folder'
    if (folder === home) return specifier.startsWith('.') ? null : 'is in the same layer: import it by a relative path'
    if (!specifier.startsWith('#')) return 'is in another layer: import it by its #name'
    return rule.folders.includes(folder) ? null : `not among what ${rule.files} may import`
  }

  /** Returns the folder of the table that an import leads to; undefined for a package. */
  folderBehind(path: string, specifier: string): string | undefined {
    const target = this.#targetOf(path, specifier)
    return target === null ? undefined : this.#folderOf(target)
  }

  /** Returns the path of one of our files, or null for a package. */
  #targetOf(path: string, specifier: string): string | null {
    if (specifier.startsWith('.')) return posix.join(dirname(path), specifier)
    if (!specifier.startsWith('#')) return null
    const [name = '', ...rest] = specifier.split('/')
    return `${this.#aliases.get(name) ?? `${name}/`}${rest.join('/')}`
  }

  /** Returns the most specific rule for a file; tests have their own rules. */
  ruleFor(path: string): ImportRule | undefined {
    return longest(
      this.#rules.filter(({ files }) =>
        path.endsWith('.test.ts')
          ? files.endsWith('/**/*.test.ts') && path.startsWith(files.slice(0, -'**/*.test.ts'.length))
          : files === path || this.#isFolderOf(files, path),
      ),
    )
  }

  /** Returns the folder of the table that contains a file. */
  #folderOf(path: string): string | undefined {
    return longest(this.#rules.filter(({ files }) => this.#isFolderOf(files, path)))?.files
  }

  /** If the folders below a folder have their own lines, its line covers only its direct files. */
  #isFolderOf(folder: string, path: string): boolean {
    if (!folder.endsWith('/') || !path.startsWith(folder)) return false
    const hasFolders = this.#rules.some(
      ({ files }) => files !== folder && files.endsWith('/') && files.startsWith(folder),
    )
    return !hasFolders || !path.slice(folder.length).includes('/')
  }

  /** Node of a file in the graph: a subfolder of a layer is one node, and so is each direct file of a layer. */
  #roomOf(path: string): string {
    const folder = this.#folderOf(path) ?? ''
    const [room = '', ...below] = path.slice(folder.length).split('/')
    return below.length === 0 ? path : `${folder}${room}/`
  }

  #graph(files: readonly SourceFile[], nodeOf: (path: string) => string): Map<string, Set<string>> {
    const graph = new Map<string, Set<string>>()
    for (const { path, imports } of files) {
      const from = nodeOf(path)
      const next = graph.get(from) ?? new Set()
      graph.set(from, next)
      for (const { specifier } of imports) {
        const target = this.#targetOf(path, specifier)
        if (target !== null && nodeOf(target) !== from) next.add(nodeOf(target))
      }
    }
    return graph
  }
}

function allowsPackage({ packages }: ImportRule, specifier: string): boolean {
  if (packages.includes('*')) return true
  // only main.ts, which has it as a global, may use the process
  if (specifier === 'node:process') return false
  if (specifier.startsWith('node:')) return packages.includes('node:')
  const [scope = '', name = ''] = specifier.split('/')
  return packages.includes(specifier.startsWith('@') ? `${scope}/${name}` : scope)
}

function longest(rules: readonly ImportRule[]): ImportRule | undefined {
  return rules.reduce<ImportRule | undefined>(
    (best, rule) => (best === undefined || rule.files.length > best.files.length ? rule : best),
    undefined,
  )
}

/** Returns one circle per group of nodes that reach each other (Tarjan's strong components), as `a -> b -> a`. */
function circles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const found: string[] = []
  const order = new Map<string, number>()
  const stack: string[] = []
  const visit = (node: string): number => {
    const own = order.size
    order.set(node, own)
    let lowest = own
    stack.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) lowest = Math.min(lowest, visit(next))
      else if (stack.includes(next)) lowest = Math.min(lowest, order.get(next) ?? own)
    }
    if (lowest !== own) return lowest
    const group = stack.splice(stack.indexOf(node))
    if (group.length > 1) found.push(shortestCircle(graph, new Set(group), node).join(' -> '))
    return lowest
  }
  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return found
}

function shortestCircle(
  graph: ReadonlyMap<string, ReadonlySet<string>>,
  group: ReadonlySet<string>,
  start: string,
): string[] {
  const paths: string[][] = [[start]]
  const seen = new Set<string>()
  for (const path of paths) {
    for (const next of graph.get(path.at(-1) ?? '') ?? []) {
      if (next === start) return [...path, start]
      if (!group.has(next) || seen.has(next)) continue
      seen.add(next)
      paths.push([...path, next])
    }
  }
  return [start]
}

/** Reads files of a checkout by their paths below `root`. */
export function readSources(root: string, paths: readonly string[]): SourceFile[] {
  return paths.map((path) => parseImports(path, readFileSync(join(root, path), 'utf8')))
}
