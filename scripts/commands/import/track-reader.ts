import { CommandError } from '#scripts/cli/command.ts'

/** A record as it stands in a file: values are what they are there, mostly text; undefined is absent. */
export interface FoundRecord {
  /** Where it is: the number of its line, or of its point. */
  place: number
  time: unknown
  lat: unknown
  long: unknown
  speed: unknown
  /** Of its speed, where the file says it; undefined is what the command says. */
  kmhPerSpeedUnit: number | undefined
  /** What the receiver says of its position. */
  fix: unknown
  voltage: unknown
  hardwareId: unknown
}

/** Told of what a reader finds, in the order of the file but for points that a reader keeps back. */
export interface TrackSink {
  record(record: FoundRecord): void
  /** `value` is what the reason is about. */
  drop(reason: string, place: number, value?: unknown): void
}

/** Reads one kind of file as it comes, in pieces of any size; memory stays the same however long the file is. */
export interface TrackReader {
  /** What `place` counts. */
  readonly placeName: 'line' | 'point'
  /** Throws `TrackFileError` where the file is not what it should be; what was found before it is good. */
  read(text: string): void
  /** The file ends here. Throws `TrackFileError` if it must not. */
  end(): void
}

/** The file cannot be read any further. */
export class TrackFileError extends CommandError {}

/** Longer than any line of any file that is meant to be one. */
export const LINE_LIMIT = 1_048_576
