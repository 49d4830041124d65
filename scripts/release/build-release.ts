// npm run build:release [-- FOLDER]: builds a release, in dist/release by default: per system the executable, with
// everything inside, an archive and a Debian package; checksums, signed with the key of CARTBARN_RELEASE_KEY_FILE.
import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { buildDeb } from './deb/package.ts'
import { packArchive } from './download/archive.ts'
import { signingKey } from './download/signing-key.ts'
import { writeSums } from './download/sums.ts'
import { bundleProgram } from './executable/bundle.ts'
import { buildExecutable } from './executable/executable.ts'
import { SYSTEMS } from './executable/node-binary.ts'
import { programLicences } from './program-licences.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = resolve(process.argv[2] ?? join(ROOT, 'dist/release'))
const PUBLIC_KEY = 'release-key.pub.pem'
const DEBIAN = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' } as const

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const { version } = JSON.parse(read('package.json'))
const changelog = read('CHANGELOG.md')
const changedAtS = Number(
  process.env.SOURCE_DATE_EPOCH ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }),
)

const key = signingKey(process.env)
if (key.isNew) console.log(`made a key that signs releases: ${key.path}. Keep it, and a copy: programs take no other's`)
execFileSync(process.execPath, [join(ROOT, 'scripts/build-app.mjs')], { stdio: 'inherit' })
const bundle = await bundleProgram([key.publicKey])
rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
writeFileSync(join(FOLDER, PUBLIC_KEY), createPublicKey(key.privateKey).export({ format: 'pem', type: 'spki' }))
const names = [PUBLIC_KEY]
for (const system of SYSTEMS) {
  const program = join(FOLDER, system, 'cartbarn')
  await buildExecutable(system, bundle, program)
  const licences = programLicences(system, bundle)
  writeFileSync(join(FOLDER, system, 'LICENSES.txt'), licences)
  const common = { program, version, licences, changelog, changedAtS, folder: FOLDER }
  names.push(packArchive({ ...common, system }))
  names.push(buildDeb({ ...common, architecture: DEBIAN[system] }).slice(FOLDER.length + 1))
}
writeSums(FOLDER, names, key.privateKey)
for (const name of names.toSorted()) console.log(relative('', join(FOLDER, name)))
