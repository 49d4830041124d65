import { Connection } from '../db/connection.ts'
import { LogTail } from './log-tail.ts'

/** The connection that writes, with what it remembers of the telemetry log. */
export class WriterTables extends Connection {
  readonly tail: LogTail = new LogTail(this)

  override close(): void {
    this.tail.close()
    super.close()
  }
}
