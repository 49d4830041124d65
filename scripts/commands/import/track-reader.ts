import { CommandError } from '#scripts/cli/command.ts'

/** Record as found in a file: values are unchanged, mostly text; undefined is absent. */
export interface FoundRecord {
  /** Position in the file: number of the line, or of the point. */
  place: number
  time: unknown
  lat: unknown
  long: unknown
  speed: unknown
  /** Unit of its speed, if the file states it; undefined: as given on the command line. */
  kmhPerSpeedUnit: number | undefined
  /** Receiver's report on the quality of its position. */
  fix: unknown
  voltage: unknown
  hardwareId: unknown
}

/** Receives the findings of a reader, in the order of the file except for points that a reader holds back. */
export interface TrackSink {
  record(record: FoundRecord): void
  /** `value` is the one that the reason is about. */
  drop(reason: string, place: number, value?: unknown): void
}

/** Reads one kind of file as it arrives, in chunks of any size, in constant memory however long the file is. */
export interface TrackReader {
  /** Unit that `place` counts. */
  readonly placeName: 'line' | 'point'
  /** Throws `TrackFileError` if the file is invalid; records found before are valid. */
  read(text: string): void
  /** Called at the end of the file. Throws `TrackFileError` if the file is incomplete. */
  end(): void
}

/** The file cannot be read any further. */
export class TrackFileError extends CommandError {}

/** Longer than any line of a valid file. */
export const LINE_LIMIT = 1_048_576
