/** What is wrong with a telemetry block; stable, for logs and counters. */
export type DamageReason =
  /** Not a telemetry block at all. */
  | 'not_a_block'
  /** Shorter or longer than its header says. */
  | 'wrong_length'
  | 'wrong_checksum'
  /** Its checksum is right, so it was written like that: by a faulty or hostile program. */
  | 'impossible_content'
  /** The page of its row cannot be read: how many records it has is not known. */
  | 'unreadable_page'

/** The bytes of a telemetry block are not what was written. What was decoded of it so far is worthless. */
export class DamagedBlockError extends Error {
  readonly reason: DamageReason

  constructor(reason: DamageReason, message: string) {
    super(`damaged telemetry block: ${message}`)
    this.name = 'DamagedBlockError'
    this.reason = reason
  }
}

/** The block is whole, but of a format this program does not know yet: an older program reads newer data. */
export class NewerBlockError extends Error {
  readonly version: number

  constructor(version: number, newestKnown: number) {
    super(`telemetry block of version ${version}; this program reads versions up to ${newestKnown}`)
    this.name = 'NewerBlockError'
    this.version = version
  }
}
