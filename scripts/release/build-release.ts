// npm run build:release: makes the executables, one file with everything inside for each system, into dist/release/.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { bundleProgram } from './executable/bundle.ts'
import { buildExecutable } from './executable/executable.ts'
import { SYSTEMS } from './executable/node-binary.ts'

const ROOT = join(import.meta.dirname, '../..')

execFileSync(process.execPath, [join(ROOT, 'scripts/build-app.mjs')], { stdio: 'inherit' })
const bundle = await bundleProgram()
for (const system of SYSTEMS) {
  const path = `dist/release/${system}/cartbarn`
  await buildExecutable(system, bundle, join(ROOT, path))
  console.log(path)
}
