import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  controlFile,
  copyrightFile,
  type DebianArchitecture,
  debianChangelog,
  lintianOverrides,
  settingsTemplate,
} from './control.ts'

const HERE = import.meta.dirname
const PROJECT = join(HERE, '../../..')
const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm']
/** Level two is within a tenth as small as nine, in a quarter of the time. */
const PACKING = ['-Zxz', '-z2', '--threads-max=1']

export interface DebOptions {
  /** Path of the executable. */
  program: string
  version: string
  architecture: DebianArchitecture
  /** Licences of everything inside the executable. */
  licences: string
  changelog: string
  /** Modification time of all files, in seconds since 1970. */
  changedAtS: number
  folder: string
}

/**
 * Packs the program for Debian, with user, unit and settings. The same input gives the same bytes. Returns the path.
 */
export function buildDeb(options: DebOptions): string {
  const { version, architecture, folder, changedAtS } = options
  const root = mkdtempSync(join(tmpdir(), 'cartbarn-deb-'))
  try {
    putFiles(root, options)
    putControl(root, options)
    for (const path of allBelow(root)) utimesSync(join(root, path), changedAtS, changedAtS)
    mkdirSync(folder, { recursive: true })
    const deb = join(folder, `cartbarn_${version}_${architecture}.deb`)
    execFileSync('dpkg-deb', ['--root-owner-group', ...PACKING, '--build', root, deb], {
      env: { PATH: process.env.PATH, SOURCE_DATE_EPOCH: String(changedAtS) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return deb
  } finally {
    rmSync(root, { recursive: true })
  }
}

function putFiles(root: string, { program, version, licences, changelog, changedAtS }: DebOptions): void {
  put(root, 'usr/lib/cartbarn/cartbarn', '', 0o755)
  copyFileSync(program, join(root, 'usr/lib/cartbarn/cartbarn'))
  put(root, 'usr/bin/cartbarn', read('cartbarn.sh'), 0o755)
  for (const unit of readdirSync(HERE).filter((name) => name.endsWith('.service') && name !== 'avahi.service'))
    put(root, `usr/lib/systemd/system/${unit}`, read(unit))
  put(root, 'usr/lib/cartbarn/swap-back', read('swap-back.sh'), 0o755)
  // postinst creates the settings file from it; minimal systems install nothing below /usr/share/doc
  for (const folder of ['usr/lib/cartbarn', 'usr/share/doc/cartbarn'])
    put(root, `${folder}/cartbarn.conf`, settingsTemplate())
  mkdirSync(join(root, 'etc/cartbarn'), { recursive: true })
  for (const folder of ['etc', 'etc/cartbarn']) chmodSync(join(root, folder), 0o755)
  put(root, 'usr/lib/cartbarn/avahi.service', read('avahi.service').replaceAll('@VERSION@', version))
  put(root, 'usr/share/doc/cartbarn/copyright', copyrightFile(licences))
  put(root, 'usr/share/doc/cartbarn/changelog.gz', gzipSync(debianChangelog(version, changedAtS), { level: 9 }))
  put(root, 'usr/share/doc/cartbarn/CHANGELOG.md.gz', gzipSync(changelog, { level: 9 }))
  for (const page of globSync('docs/**/*.{md,yaml,yml}', { cwd: PROJECT }).sort())
    put(root, `usr/share/doc/cartbarn/${page}`, readFileSync(join(PROJECT, page)))
  put(root, 'usr/share/lintian/overrides/cartbarn', lintianOverrides())
}

function putControl(root: string, { version, architecture }: DebOptions): void {
  const files = allBelow(root).filter((path) => statSync(join(root, path)).isFile())
  const sizeKb = files.reduce((sum, path) => sum + Math.ceil(statSync(join(root, path)).size / 1024), 0)
  const sums = files.map((path) => `${md5Of(join(root, path))}  ${path}\n`)
  put(root, 'DEBIAN/control', controlFile({ version, architecture, sizeKb }))
  put(root, 'DEBIAN/md5sums', sums.join(''))
  for (const name of SCRIPTS) put(root, `DEBIAN/${name}`, read(`${name}.sh`).replaceAll('@VERSION@', version), 0o755)
}

function put(root: string, path: string, content: string | Buffer, mode = 0o644): void {
  const target = join(root, path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, content)
  // whatever the umask
  chmodSync(target, mode)
  for (let folder = dirname(target); folder !== dirname(root); folder = dirname(folder)) chmodSync(folder, 0o755)
}

function read(name: string): string {
  return readFileSync(join(HERE, name), 'utf8')
}

function allBelow(root: string): string[] {
  return readdirSync(root, { recursive: true }).map(String).sort()
}

function md5Of(path: string): string {
  return createHash('md5').update(readFileSync(path)).digest('hex')
}
