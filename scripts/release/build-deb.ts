// npm run build:deb -- PROGRAM ARCHITECTURE [FOLDER]: packs an executable for Debian, into dist/release by default.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildDeb } from './deb/package.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const [program, architecture, folder = join(ROOT, 'dist/release')] = process.argv.slice(2)
if (program === undefined || !existsSync(program) || (architecture !== 'amd64' && architecture !== 'arm64')) {
  console.error('build:deb: the path of an executable and amd64 or arm64 are needed')
  process.exit(2)
}
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
// the licences of the content are next to the executable
const licences = join(dirname(program), 'LICENSES.txt')
const changedAtS = Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }))
console.log(
  buildDeb({
    program,
    architecture,
    folder,
    changedAtS,
    version: JSON.parse(read('package.json')).version,
    licences: existsSync(licences) ? readFileSync(licences, 'utf8') : read('LICENSE'),
    changelog: read('CHANGELOG.md'),
  }),
)
