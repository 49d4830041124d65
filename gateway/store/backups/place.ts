export interface PlacedFile {
  readonly name: string
  readonly bytes: number
}

/**
 * Target of backups: a folder, one file, or a store on the network. Names are paths with `/`. A file under its name is
 * always complete: its content is on the disk before it gets the name.
 */
export interface BackupPlace {
  /** Text for people. */
  readonly shown: string
  /** True if writing is slow. */
  readonly isRemote: boolean
  /** Throws `BackupFault` if the target does not exist. */
  open(): Promise<void>
  list(folder: string): Promise<PlacedFile[]>
  /** Reads a file; null if it does not exist. Throws `BackupFault` if it has more than `mostBytes`. */
  read(name: string, mostBytes: number): Promise<Buffer | null>
  write(name: string, content: Buffer): Promise<void>
  remove(name: string): Promise<void>
  /** Makes everything written permanent; a target that is one file gets its name now. */
  finish(): Promise<void>
  /** Closes open files, and removes everything that was not finished. */
  close(): Promise<void>
}
