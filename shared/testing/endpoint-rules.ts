import { readFileSync } from 'node:fs'
import type { OpenApiDocument, Operation } from '#shared/http/openapi.ts'
import { findOperation } from '#shared/http/openapi-paths.ts'
import { type Tags, tagOf } from '#shared/http/operation-names.ts'

interface Endpoints {
  document: OpenApiDocument
  tags: Tags
  /** Texts of the tests that may contain scenarios. */
  tests: readonly string[]
  /** Chapters of this program in the pages docs/api*.md, by `chaptersOf`. */
  page: string
}

/** Returns the chapters of a page of endpoints: everything after its heading `## Endpoints`. */
export const chaptersOf = (page: URL) => (readFileSync(page, 'utf8').split(/^## .*$/m)[1] ?? '').trim()

/** Lists in sentences what endpoints lack besides their routes: a scenario test, a tag, a line in docs/api*.md. */
export function endpointFaults({ document, tags, tests, page }: Endpoints): string[] {
  const called = new Set(tests.flatMap((text) => calledIn(text, document)))
  const untested = operationsOf(document)
    .filter(({ operation }) => !called.has(operation.operationId))
    .map(({ method, path }) => `no scenario test calls '${method}', '${path}'`)
  const homeless = Object.keys(document.paths)
    .filter((path) => tagOf(tags, path) === undefined)
    .map((path) => `no chapter in api/tags.ts has a noun of ${path}`)
  return [...untested, ...homeless, ...pageFaults(endpointList(document), page)]
}

/** The names that schemas of a document require and do not define. */
export function undefinedNames(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { required, properties } = Object.assign({ required: undefined, properties: {} }, value)
  const names: unknown[] = Array.isArray(required) ? required : []
  const missing = names.filter((name) => typeof name === 'string' && !Object.hasOwn(Object(properties), name))
  return [...missing.map(String), ...Object.values(value).flatMap(undefinedNames)]
}

function operationsOf(document: OpenApiDocument): { method: string; path: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

/** The endpoints by chapter, as in docs/api*.md. */
function endpointList(document: OpenApiDocument): string {
  const chapters = document.tags.map(({ name, description }) => {
    const rows = operationsOf(document)
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ method, path, operation }) => {
        return `| \`${method} ${path}\` | ${keyFor(operation)} | ${operation.summary} |`
      })
    const head = [`### ${name}`, '', description, '', '| endpoint | key | what it does |', '|---|---|---|']
    return [...head, ...rows].join('\n')
  })
  return chapters.join('\n\n')
}

function keyFor({ security: [needed] }: Operation): string {
  if (needed === undefined) return 'none'
  return needed.ApiKeyAuth?.[0] ?? 'user'
}

function pageFaults(expected: string, page: string): string[] {
  const wanted = rowsByChapter(expected)
  const listed = rowsByChapter(page)
  const faults = [
    ...wanted.filter((row) => !listed.includes(row)).map((row) => `docs/api*.md lacks in the chapter ${row}`),
    ...listed.filter((row) => !wanted.includes(row)).map((row) => `docs/api*.md is wrong in the chapter ${row}`),
  ]
  return faults.length > 0 || page.trim() === expected ? faults : [`docs/api*.md must read\n${expected}`]
}

function rowsByChapter(page: string): string[] {
  return page.split(/^### /m).flatMap((chapter) => {
    const [name = '', ...lines] = chapter.split('\n')
    return lines.filter((line) => line.startsWith('| `')).map((line) => `${name}: ${line}`)
  })
}

const PATH = String.raw`(?:'(\/[^']*)'|\`([^\`]*)\`)`
const CONSTANT = new RegExp(String.raw`\b(\w+) = ${PATH}`, 'g')
/** A path or the name of one, after its method, or as a first argument: then its method is in what follows, or GET. */
const CALL = new RegExp(
  String.raw`(?:'(GET|POST|PUT|PATCH|DELETE)',\s*|\w\(\s*)(?:${PATH}|(\w+)\b)(?:, \{\s*method: '(\w+)')?`,
  'g',
)

/** The operations that a test calls, with paths in its text or in its constants. */
function calledIn(text: string, document: OpenApiDocument): string[] {
  const constants = [...text.matchAll(CONSTANT)].map(([, name, quoted, template = '']) => ({
    place: `\${${name}}`,
    path: quoted ?? template,
  }))
  // a name may stand for another path in each test
  const resolve = (path: string): string[] => {
    const named = constants.filter((one) => path.startsWith(one.place) && !one.path.startsWith(one.place))
    return [path, ...named.flatMap((one) => resolve(path.replace(one.place, one.path)))]
  }
  return [...text.matchAll(CALL)].flatMap(([, before, quoted, template, name, after = 'GET']) =>
    resolve(quoted ?? template ?? `\${${name}}`)
      .filter((path) => path.startsWith('/'))
      .flatMap((path) => {
        const called = path.replaceAll(/\$\{.*?\}/g, 'x')
        return findOperation(document, before ?? after, called)?.operationId ?? []
      }),
  )
}
