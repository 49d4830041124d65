import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAssetKeys, getRawAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { describeError } from './errors.ts'

/** All files that the program reads at run time, contained in the executable; folders end with a slash. */
export const PROGRAM_FILES = [
  'package.json',
  'docs/',
  'dist/dashboard/',
  'gateway/api/help/help.css',
  'gateway/store/db/migrations/',
  'shared/http/docs/docs.css',
  'shared/http/docs/script.mjs',
  'cloud-sync/hub/store/database/schema.sql',
]

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** True in the executable, a single file that contains everything. */
export const isExecutable = isSea()

export interface Folder {
  /** Location of the folder, for messages. */
  readonly path: string
  /** File names in order, without those in subfolders. */
  names(): string[]
  /** Returns undefined if the file does not exist. The buffer may be part of the executable: do not modify it. */
  read(name: string): Buffer<ArrayBuffer> | undefined
}

/** Reads a file of the program by its path in the sources. Throws if it does not exist. */
export function readProgramFile(path: string): Buffer<ArrayBuffer> {
  if (isExecutable) return Buffer.from(getRawAsset(path))
  if (!PROGRAM_FILES.some((one) => path === one || (one.endsWith('/') && path.startsWith(one))))
    throw new Error(`the executable would not have ${path}: it is not in PROGRAM_FILES`)
  return readFileSync(join(ROOT, path))
}

/** Returns a folder of the program by its path in the sources. */
export function programFolder(path: string): Folder {
  if (!isExecutable) return diskFolder(join(ROOT, path))
  const prefix = `${path}/`
  const keys = new Set(getAssetKeys().filter((key) => key.startsWith(prefix)))
  return {
    path,
    names: () =>
      [...keys]
        .map((key) => key.slice(prefix.length))
        .filter((name) => !name.includes('/'))
        .sort(),
    read: (name) => (keys.has(`${prefix}${name}`) ? readProgramFile(`${prefix}${name}`) : undefined),
  }
}

export function diskFolder(path: string): Folder {
  return {
    path,
    names: () =>
      readdirSync(path, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name)
        .sort(),
    read: (name) => {
      try {
        return readFileSync(join(path, name))
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      }
    },
  }
}

/**
 * Calls `load` with the path of a shared library of the program. In an executable the file exists only during the call.
 * The path is the same for the whole process: the system identifies a loaded library by its path, and a second SQLite
 * in a process would drop the locks of the first. So the main thread must load it first and keep it loaded.
 */
export function loadLibrary<Loaded>(path: string, load: (realPath: string) => Loaded): Loaded {
  if (!isExecutable) return load(join(ROOT, path))
  const loaded = getEnvironmentData(path)
  if (typeof loaded === 'string') return load(loaded)
  if (!isMainThread) throw new Error(`the main thread has not loaded ${path}`)
  const refusals: string[] = []
  for (const folder of libraryFolders()) {
    let own: string | undefined
    try {
      own = mkdtempSync(join(folder, 'cartbarn-'))
      const realPath = join(own, 'library')
      writeFileSync(realPath, readProgramFile(path), { mode: 0o500 })
      const result = load(realPath)
      setEnvironmentData(path, realPath)
      return result
    } catch (error) {
      refusals.push(describeError(error))
    } finally {
      if (own !== undefined) rmSync(own, { recursive: true, force: true })
    }
  }
  throw new Error(
    `cannot load a component of the program (${refusals.join('; ')}): set TMPDIR to a folder that is writable and ` +
      'not mounted with noexec',
  )
}

/** Candidate folders for a temporary file; a hardened service may find one read-only or mounted without execution. */
function libraryFolders(): string[] {
  const { RUNTIME_DIRECTORY, CARTBARN_DATA_DIR } = process.env
  return [tmpdir(), RUNTIME_DIRECTORY, CARTBARN_DATA_DIR, '/dev/shm'].filter((folder) => folder !== undefined)
}
