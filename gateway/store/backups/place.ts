/** A file in a place of backups. */
export interface PlacedFile {
  readonly name: string
  readonly bytes: number
}

/**
 * Where backups are: a folder, one file, a store on the network. Names are paths with `/`. A file is whole under its
 * name or not there: what is written is on the disk before it has the name.
 */
export interface BackupPlace {
  /** For people. */
  readonly shown: string
  /** What is written there takes its time. */
  readonly isRemote: boolean
  /** Throws `BackupFault` when the place is not there. */
  open(): Promise<void>
  list(folder: string): Promise<PlacedFile[]>
  /** Null when there is none of that name. Throws `BackupFault` for one of more than `mostBytes`. */
  read(name: string, mostBytes: number): Promise<Buffer | null>
  write(name: string, content: Buffer): Promise<void>
  remove(name: string): Promise<void>
  /** All that was written is to stay: what is one file gets its name now. */
  finish(): Promise<void>
  /** Closes what is open, and leaves nothing behind of what was not finished. */
  close(): Promise<void>
}
