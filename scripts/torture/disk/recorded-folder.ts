import { readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Workbench } from '#scripts/rig/processes.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import type { Unsynced } from './file.ts'
import { type DiskRecord, readDiskLog } from './log.ts'
import { DiskModel, type Folder, type Syncs } from './model.ts'

/** State of the disk at a power cut. */
export interface PowerCut {
  unsynced: Unsynced
  /** Number of recorded changes; `unsyncedChanges`: those that no sync had made safe. */
  changes: number
  unsyncedChanges: number
}

/** Data folder whose changes are recorded, and which takes the disk's state after a power cut. */
export class RecordedFolder {
  readonly #bench: Workbench
  readonly #library: string
  readonly #random: () => number
  readonly #logFile: string
  #path: string
  #before: Folder = new Map()

  /** `path` must not contain a link. */
  constructor(bench: Workbench, library: string, path: string, random: () => number = Math.random) {
    this.#bench = bench
    this.#library = library
    this.#random = random
    this.#path = path
    this.#logFile = join(createDataFolder(bench, 'record'), 'changes')
  }

  /** Current path: another folder after every cut. */
  get path(): string {
    return this.#path
  }

  /** Begins a process's life (content counts as synced); returns its options. It dies before its `killAt`-th change. */
  begin(killAt = 0): { preload: string; env: Record<string, string> } {
    this.#before = readFolder(this.#path)
    writeFileSync(this.#logFile, '')
    const env = {
      TORTURE_FOLDER: this.#path,
      TORTURE_LOG: this.#logFile,
      TORTURE_KILL_AT: String(killAt),
    }
    return { preload: this.#library, env }
  }

  /** Replaces the folder by a disk's state after a power cut at this moment; call it after the process was killed. */
  cut(unsynced: Unsynced, syncs: Syncs = 'honoured'): PowerCut {
    const { path, cut } = this.rebuild(unsynced, syncs)
    rmSync(this.#path, { recursive: true })
    this.#path = path
    return cut
  }

  /** Builds that state in another folder: one death can have many outcomes. Throws if the log is incomplete. */
  rebuild(unsynced: Unsynced, syncs: Syncs = 'honoured'): { path: string; cut: PowerCut } {
    const records = readDiskLog(readFileSync(this.#logFile))
    this.#compare(records)
    const model = replay(this.#before, records, syncs)
    const path = createDataFolder(this.#bench, 'after-cut')
    for (const [name, content] of model.afterCut(unsynced, this.#random)) {
      writeFileSync(join(path, name), content)
    }
    passForOriginal(path)
    const { unsyncedChanges } = model
    return { path, cut: { unsynced, changes: records.length, unsyncedChanges } }
  }

  /** Throws if the log does not explain the files completely: its replay would be meaningless. */
  #compare(records: readonly DiskRecord[]): void {
    const real = readFolder(this.#path)
    const differing = this.#difference(records, real)
    // recorded, and killed before it was done
    if (differing === null || this.#difference(records.slice(0, -1), real) === null) return
    throw new Error(`the recorder missed changes of ${differing}`)
  }

  #difference(records: readonly DiskRecord[], real: Folder): string | null {
    const expected = replay(this.#before, records, 'honoured').afterCut('all', this.#random)
    for (const name of new Set([...expected.keys(), ...real.keys()])) {
      // a file that was made and killed before it was recorded is empty
      const [is, should] = [real.get(name) ?? NOTHING, expected.get(name) ?? NOTHING]
      if (!is.equals(should)) return name
    }
    return null
  }
}

const NOTHING = Buffer.alloc(0)

/** Creates a temporary folder whose path contains no link. */
export function createDataFolder(bench: Workbench, name: string): string {
  return realpathSync(bench.createFolder(name))
}

function replay(before: Folder, records: readonly DiskRecord[], syncs: Syncs): DiskModel {
  const model = new DiskModel(before, syncs)
  for (const record of records) model.apply(record)
  return model
}

function readFolder(path: string): Folder {
  const names = readdirSync(path).filter((name) => !name.endsWith('-shm'))
  return new Map(names.map((name) => [name, readFileSync(join(path, name))]))
}
