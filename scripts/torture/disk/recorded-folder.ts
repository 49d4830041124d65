import { readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Workbench } from '#scripts/rig/processes.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import type { Unsynced } from './file.ts'
import { type DiskRecord, readDiskLog } from './log.ts'
import { DiskModel, type Folder, type Syncs } from './model.ts'

/** What a power cut met. */
export interface PowerCut {
  unsynced: Unsynced
  /** Changes recorded, and how many of them no sync had made safe. */
  changes: number
  unsyncedChanges: number
  recordedBytes: number
}

/** A data folder whose changes are recorded, and that becomes what a disk holds of it after a power cut. */
export class RecordedFolder {
  readonly #bench: Workbench
  readonly #library: string
  readonly #random: () => number
  readonly #logFile: string
  #path: string
  #before: Folder = new Map()

  /** `path` must have no link in it. */
  constructor(bench: Workbench, library: string, path: string, random: () => number = Math.random) {
    this.#bench = bench
    this.#library = library
    this.#random = random
    this.#path = path
    this.#logFile = join(createDataFolder(bench, 'record'), 'changes')
  }

  /** Where it is now: another folder after every cut. */
  get path(): string {
    return this.#path
  }

  /**
   * Begins a life of a process in it: what is there counts as being on the disk. Returns how to start the process,
   * which is killed when it is about to make the `killAt`-th change.
   */
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

  /** After the process was killed: makes the folder what a disk holds when the power goes in that moment. */
  cut(unsynced: Unsynced, syncs: Syncs = 'honoured'): PowerCut {
    const { path, cut } = this.rebuild(unsynced, syncs)
    rmSync(this.#path, { recursive: true })
    this.#path = path
    return cut
  }

  /** The same in another folder, so that one death can have many outcomes. Throws when the log is not complete. */
  rebuild(unsynced: Unsynced, syncs: Syncs = 'honoured'): { path: string; cut: PowerCut } {
    const log = readFileSync(this.#logFile)
    const records = readDiskLog(log)
    this.#compare(records)
    const model = replay(this.#before, records, syncs)
    const path = createDataFolder(this.#bench, 'after-cut')
    for (const [name, content] of model.afterCut(unsynced, this.#random)) {
      writeFileSync(join(path, name), content)
    }
    passForOriginal(path)
    const { unsyncedChanges } = model
    return { path, cut: { unsynced, changes: records.length, unsyncedChanges, recordedBytes: log.length } }
  }

  /** Throws when the log is not all that happened to the files: then nothing that follows from it would mean much. */
  #compare(records: readonly DiskRecord[]): void {
    const real = readFolder(this.#path)
    const differing = this.#difference(records, real)
    // recorded, and killed before it was done
    if (differing === null || this.#difference(records.slice(0, -1), real) === null) return
    throw new Error(`the recorder did not see all that happened to ${differing}`)
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

/** A temporary folder whose path has no link in it. */
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
