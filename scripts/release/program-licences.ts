import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledPackages } from './bundled-packages.ts'
import { licencesText } from './download/licences.ts'
import type { Bundle } from './executable/bundle.ts'
import { nodeFolder, type System } from './executable/node-binary.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Packages that add their own code to their bundles. */
const BUNDLERS = ['node_modules/rolldown', 'node_modules/vite']

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Returns the licences of everything in the executable of a system. The app must have been built. */
export function programLicences(system: System, bundle: Bundle): string {
  const { version } = JSON.parse(read('package.json'))
  const app: readonly string[] = JSON.parse(read('dist/dashboard/build.json')).packages
  const others = new Map([
    [`cartbarn ${version}`, read('LICENSE')],
    ['Node.js, with all that is in it', readFileSync(join(nodeFolder(system), 'LICENSE'), 'utf8')],
    ['SQLite (in better-sqlite3)', 'SQLite is in the public domain: https://www.sqlite.org/copyright.html'],
    ['PostgreSQL (in PGlite)', read('scripts/release/download/postgresql-license.txt')],
  ])
  return licencesText(ROOT, [...bundledPackages(bundle.sources), ...app, ...BUNDLERS], others)
}
