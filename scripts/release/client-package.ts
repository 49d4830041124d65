import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readConfig } from '#gateway/config.ts'
import { createGateway } from '#gateway/gateway.ts'
import type { OpenApiDocument } from '#shared/http/openapi.ts'
import { createLog } from '#shared/log.ts'
import { operationTypes } from './operation-types.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TYPES_FILE = 'operations.d.ts'

/** Requirement of the client: `AbortSignal.any` is the newest feature that it needs. */
const NODE_VERSIONS = '>=20.3'

const COMPILER_OPTIONS = {
  target: 'ES2022',
  lib: ['ES2022', 'DOM'],
  types: [],
  module: 'NodeNext',
  strict: true,
  declaration: true,
  rootDir: 'src',
  outDir: 'package',
}

/**
 * Packs `shared/client.ts` as an npm package without dependencies: compiled, with types from the OpenAPI document of
 * this gateway instead of zod. The same sources give the same bytes. Returns the path of the tarball in `folder`.
 */
export async function packClient(folder: string): Promise<string> {
  const document = await readDocument()
  const work = mkdtempSync(join(tmpdir(), 'cartbarn-client-'))
  try {
    writeSources(work, document)
    execFileSync(tool('tsc'), ['-p', work], { stdio: 'inherit' })
    const contents = join(work, 'package')
    writeJson(contents, 'package.json', packageJson(document.info.version))
    copyFileSync(join(work, 'src', TYPES_FILE), join(contents, TYPES_FILE))
    copyFileSync(join(ROOT, 'scripts/release/client-readme.md'), join(contents, 'README.md'))
    copyFileSync(join(ROOT, 'LICENSE'), join(contents, 'LICENSE'))
    // the file modes are stored in the tarball, and must not depend on the machine that builds it
    for (const file of readdirSync(contents)) chmodSync(join(contents, file), 0o644)
    mkdirSync(folder, { recursive: true })
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', resolve(folder)]
    return join(folder, execFileSync('npm', args, { cwd: contents, encoding: 'utf8' }).trim())
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** Returns the document that a gateway of this version serves, without starting it. */
async function readDocument(): Promise<OpenApiDocument> {
  const { app } = createGateway(readConfig({ CARTBARN_DATA_DIR: tmpdir() }), createLog('silent'))
  const response = await app.request('/openapi.json')
  // the route generates it as one
  return (await response.json()) as OpenApiDocument
}

function writeSources(work: string, document: OpenApiDocument): void {
  mkdirSync(join(work, 'src'))
  writeJson(work, 'package.json', { type: 'module' })
  writeJson(work, 'tsconfig.json', { compilerOptions: COMPILER_OPTIONS, include: ['src'] })
  writeFileSync(join(work, 'src', TYPES_FILE), formatted(operationTypes(document)))
  const client = readFileSync(join(ROOT, 'shared/client.ts'), 'utf8')
  const packed = client.replaceAll(/^(import type .* from) '.*'$/gm, "$1 './operations.js'")
  writeFileSync(join(work, 'src/client.ts'), `${packed}\nexport type * from './operations.js'\n`)
}

function packageJson(version: string): object {
  return {
    name: 'cartbarn-client',
    version,
    license: 'MIT',
    description: 'The API of a cartbarn gateway, typed.',
    type: 'module',
    sideEffects: false,
    engines: { node: NODE_VERSIONS },
    exports: { '.': { types: './client.d.ts', default: './client.js' } },
  }
}

function formatted(types: string): string {
  const args = ['format', `--stdin-file-path=${TYPES_FILE}`]
  return execFileSync(tool('biome'), args, { cwd: ROOT, input: types, encoding: 'utf8' })
}

function tool(name: string): string {
  return join(ROOT, 'node_modules/.bin', name)
}

function writeJson(folder: string, name: string, value: object): void {
  writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`)
}
