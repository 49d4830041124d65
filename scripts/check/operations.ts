// Part of npm run check: the schemas in shared/wire/operations.ts match the gateway's routes. --operations writes it.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { RouteConfig } from '@hono/zod-openapi'
import { z } from 'zod'
import { readConfig } from '#gateway/config.ts'
import { createGateway } from '#gateway/gateway.ts'
import { createLog } from '#shared/log.ts'

const WIRE = 'shared/wire'
const FILE = `${WIRE}/operations.ts`
/** Routes that describe the API and do not belong to it. */
const DOCUMENTS: readonly string[] = ['GET /openapi.json', 'GET /docs']

const HEAD = `// Written from the routes of the gateway by npm run check -- --operations.
import { z } from 'zod'`
const DOCSTRING = `/** The schemas of what each operation of the API takes and answers, by method and path. */`

interface Named {
  file: string
  name: string
}

const text = formatted(operationsText(gatewayRoutes(), await exportedSchemas()))
if (process.argv.includes('--operations')) writeFileSync(FILE, text)
else if (readFileSync(FILE, 'utf8') !== text) {
  console.error(`${FILE} differs from the routes: npm run check -- --operations`)
  process.exitCode = 1
}

function formatted(unformatted: string): string {
  const args = ['check', '--write', `--stdin-file-path=${FILE}`]
  return execFileSync('node_modules/.bin/biome', args, { input: unformatted, encoding: 'utf8' })
}

/** Returns the routes of a gateway of this version, without starting it. */
function gatewayRoutes(): RouteConfig[] {
  const { app } = createGateway(readConfig({ CARTBARN_DATA_DIR: tmpdir() }), createLog('silent'))
  return app.openAPIRegistry.definitions.flatMap((one) => (one.type === 'route' ? [one.route] : []))
}

async function exportedSchemas(): Promise<Map<unknown, Named>> {
  const names = new Map<unknown, Named>()
  for (const file of readdirSync(WIRE, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!file.endsWith('.ts') || file.includes('.test.') || file === 'operations.ts') continue
    const exported: object = await import(new URL(`../../${WIRE}/${file}`, import.meta.url).href)
    for (const [name, value] of Object.entries(exported))
      if (value instanceof z.ZodType && !names.has(value)) names.set(value, { file, name })
  }
  return names
}

/** Throws if a route has a schema that is neither exported, nor a list of an exported one, nor a text. */
function operationsText(routes: readonly RouteConfig[], exported: ReadonlyMap<unknown, Named>): string {
  const files = new Set<string>()
  const expression = (schema: unknown, where: string): string => {
    const named = exported.get(schema)
    if (named !== undefined) {
      files.add(named.file)
      return `${namespaceOf(named.file)}.${named.name}`
    }
    if (schema instanceof z.ZodArray) return `z.array(${expression(schema.element, where)})`
    if (schema instanceof z.ZodString) return 'z.string()'
    throw new Error(`${where} has a schema that ${WIRE} does not export`)
  }
  const lines = routes.flatMap(({ method, path, request, responses }) => {
    const name = `${method.toUpperCase()} ${path}`
    if (DOCUMENTS.includes(name)) return []
    const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
    const schemas = { query: request?.query, body: schemaIn(request?.body), answer: schemaIn(success) }
    const given = Object.entries(schemas).filter(([, schema]) => schema !== undefined)
    const fields = given.map(([part, schema]) => `${part}: ${expression(schema, `${part} of ${name}`)}`)
    return [`  '${name}': { ${fields.join(', ')} },`]
  })
  const imports = [...files].sort().map((file) => `import * as ${namespaceOf(file)} from './${file}'`)
  return `${[HEAD, ...imports].join('\n')}

${DOCSTRING}
export const operations = {
${lines.join('\n')}
}
`
}

/** Converts `device-types.ts` to `deviceTypes`. */
function namespaceOf(file: string): string {
  return file.replace(/\.ts$/, '').replaceAll(/[-/](\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns the schema of the first content type of a request or a response. */
function schemaIn(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || !('content' in part)) return undefined
  const [media]: unknown[] = Object.values(Object(part.content))
  return typeof media === 'object' && media !== null && 'schema' in media ? media.schema : undefined
}
