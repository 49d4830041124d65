import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { BackupFault } from './backup-fault.ts'
import { syncFolder } from './synced-files.ts'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
/** Maximum depth of folders in a set. */
const MOST_LEVELS = 2

/**
 * Files below a folder that other users may write. Names are paths with `/`. Links are never followed, not even one
 * created in the meantime, and only plain files are opened: a `BackupFault` names the obstacle.
 */
export class PlainFolder {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Reads a file; null if it does not exist. Throws `BackupFault` if it has more than `mostBytes`. */
  read(name: string, mostBytes: number): Buffer | null {
    return this.#in(dirname(name), (here) => readPlainFile(`${here}/${basename(name)}`, name, mostBytes), null)
  }

  /** Writes a file, and creates missing folders. `temporary` is its name until the content is on the disk. */
  write(name: string, temporary: string, content: Buffer): void {
    for (const folder of [dirname(name), dirname(temporary)]) this.#make(folder)
    this.#in(dirname(temporary), (from) =>
      this.#in(dirname(name), (to, folder) => {
        const [path, newPath] = [`${from}/${basename(temporary)}`, `${to}/${basename(name)}`]
        const found = lstatSync(newPath, { throwIfNoEntry: false })
        if (found?.isDirectory()) throw notPlain(name, found)
        writeNewFile(path, content)
        // replaces a link instead of writing to its target
        renameSync(path, newPath)
        syncFolder(folder)
      }),
    )
  }

  /** Removes a file, or a link of that name. */
  remove(name: string): void {
    this.#in(
      dirname(name),
      (here) => {
        const path = `${here}/${basename(name)}`
        const found = lstatSync(path, { throwIfNoEntry: false })
        if (found !== undefined && !found.isDirectory()) unlinkSync(path)
      },
      undefined,
    )
  }

  /** Removes everything in a folder except folders. */
  empty(folder: string): void {
    for (const name of this.#in(folder, (here) => readdirSync(here), [])) this.remove(`${folder}/${name}`)
  }

  /** Returns all files below a folder, with their sizes. */
  list(folder: string, levels = MOST_LEVELS): { name: string; bytes: number }[] {
    const entries = this.#in(
      folder,
      (here) =>
        readdirSync(here).map((name) => ({
          name: `${folder}/${name}`,
          found: lstatSync(`${here}/${name}`, { throwIfNoEntry: false }),
        })),
      [],
    )
    return entries.flatMap(({ name, found }) => {
      if (found?.isSymbolicLink()) throw notPlain(name, found)
      if (found?.isDirectory()) return levels > 1 ? this.list(name, levels - 1) : []
      return found?.isFile() ? [{ name, bytes: found.size }] : []
    })
  }

  /** Calls `use` with a path that stays valid even if another file or folder takes the name of the folder. */
  #in<Result>(folder: string, use: (here: string, opened: number) => Result, ...whenMissing: [Result] | []): Result {
    const names = folder === '.' ? [] : folder.split('/')
    const opened = [openSync(this.#path, O_RDONLY | O_DIRECTORY)]
    try {
      for (const name of names) {
        const path = `${pathOf(opened.at(-1), this.#path)}/${name}`
        const found = lstatSync(path, { throwIfNoEntry: false })
        if (found === undefined && whenMissing.length === 1) return whenMissing[0]
        if (found !== undefined && !found.isDirectory()) throw notPlain(folder, found)
        opened.push(openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
      }
      const last = opened.at(-1) ?? -1
      return use(pathOf(last, [this.#path, ...names].join('/')), last)
    } finally {
      for (const file of opened) closeSync(file)
    }
  }

  #make(folder: string): void {
    if (folder === '.') return
    this.#make(dirname(folder))
    this.#in(dirname(folder), (here, above) => {
      const path = `${here}/${basename(folder)}`
      if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return
      mkdirSync(path, { mode: FOLDER_MODE })
      syncFolder(above)
    })
  }
}

/** Content of a plain file; null if missing. Throws `BackupFault` for anything else, or over `mostBytes`. */
function readPlainFile(path: string, name: string, mostBytes: number): Buffer | null {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return null
  if (!found.isFile()) throw notPlain(name, found)
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const { size } = fstatSync(file)
    if (size > mostBytes) throw new BackupFault(`${name} has ${size} bytes, more than this program writes`)
    const content = Buffer.alloc(size)
    let done = 0
    while (done < size) {
      const read = readSync(file, content, done, size - done, done)
      if (read === 0) break
      done += read
    }
    return content.subarray(0, done)
  } finally {
    closeSync(file)
  }
}

function writeNewFile(path: string, content: Buffer): void {
  const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE)
  try {
    let done = 0
    while (done < content.length) done += writeSync(file, content, done)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function notPlain(name: string, found: Stats): BackupFault {
  const what = found.isSymbolicLink() ? 'is a link' : found.isDirectory() ? 'is a folder' : 'is not a plain file'
  return new BackupFault(`${name} ${what}, which no backup has: remove it`)
}

function pathOf(file: number | undefined, path: string): string {
  const open = `/proc/self/fd/${file}`
  return existsSync(open) ? open : path
}
