import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ArchiveOptions {
  /** Path of the executable. */
  program: string
  version: string
  /** System of the executable, such as linux-x64. */
  system: string
  /** Licences of everything inside the executable. */
  licences: string
  changelog: string
  /** Modification time of all files, in seconds since 1970. */
  changedAtS: number
  folder: string
}

/** Packs the executable with its documents. The same input gives the same bytes. Returns the name of the file. */
export function packArchive(options: ArchiveOptions): string {
  const { version, system, changedAtS, folder } = options
  const name = `cartbarn-${version}-${system}`
  const work = mkdtempSync(join(tmpdir(), 'cartbarn-archive-'))
  try {
    const root = join(work, name)
    mkdirSync(root)
    copyFileSync(options.program, join(root, 'cartbarn'))
    writeFileSync(join(root, 'LICENSES.txt'), options.licences)
    writeFileSync(join(root, 'CHANGELOG.md'), changesOf(version, options.changelog))
    const readme = readFileSync(join(import.meta.dirname, 'readme.md'), 'utf8')
    writeFileSync(join(root, 'README.md'), readme.replaceAll('@VERSION@', version))
    // whatever the umask
    for (const file of ['LICENSES.txt', 'CHANGELOG.md', 'README.md']) chmodSync(join(root, file), 0o644)
    for (const path of [root, join(root, 'cartbarn')]) chmodSync(path, 0o755)
    const order = ['--sort=name', `--mtime=@${changedAtS}`, '--owner=0', '--group=0', '--numeric-owner']
    const tar = join(work, `${name}.tar`)
    execFileSync('tar', ['--format=ustar', ...order, '-cf', tar, '-C', work, name])
    // level two compresses nearly as well as nine, in a quarter of the time; several threads would change the bytes
    execFileSync('xz', ['-2', '--threads=1', tar])
    copyFileSync(`${tar}.xz`, join(folder, `${name}.tar.xz`))
    return `${name}.tar.xz`
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** Returns the changes of a version: its section of the changelog, or the unreleased changes. */
function changesOf(version: string, changelog: string): string {
  const sections = changelog.split(/^(?=## )/m).slice(1)
  const own = sections.find((section) => /^## (\S+)/.exec(section)?.[1] === version)
  const found = own ?? sections.find((section) => section.startsWith('## Unreleased'))
  if (found === undefined) throw new Error(`CHANGELOG.md has no section for ${version}`)
  return found
}
