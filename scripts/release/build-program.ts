// npm run build:program -- FOLDER: builds the executable for this machine's system, and LICENSES.txt, for the
// Dockerfile. Needs neither git nor a key, and belongs to no release: its `cartbarn upgrade` trusts no package.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundleProgram } from './executable/bundle.ts'
import { buildExecutable } from './executable/executable.ts'
import { SYSTEMS } from './executable/node-binary.ts'
import { programLicences } from './program-licences.ts'

const [folder] = process.argv.slice(2)
const system = SYSTEMS.find((one) => one === `${process.platform}-${process.arch}`)
if (folder === undefined) throw new Error('usage: npm run build:program -- FOLDER')
if (system === undefined)
  throw new Error(`there is no executable for ${process.platform}-${process.arch}: ${SYSTEMS.join(', ')}`)
execFileSync(process.execPath, [join(import.meta.dirname, '../build-app.mjs')], { stdio: 'inherit' })
const bundle = await bundleProgram([])
mkdirSync(folder, { recursive: true })
await buildExecutable(system, bundle, resolve(folder, 'cartbarn'))
writeFileSync(join(folder, 'LICENSES.txt'), programLicences(system, bundle))
