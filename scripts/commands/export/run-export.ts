import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { CommandError, type CommandIo, EXIT, pathFrom, runCommand, systemCode } from '#scripts/cli/command.ts'
import type { TrackFormat } from '#scripts/cli/formats.ts'
import { grouped, Progress } from '#scripts/cli/progress.ts'
import { RetryTimeout } from '#scripts/cli/retry-timeout.ts'
import { ApiClient } from '#shared/client.ts'
import { fileNameOf } from '#shared/http/attachment.ts'
import { type ExportOptions, parseExportOptions } from './options.ts'
import { requireFree, WholeFile } from './whole-file.ts'

/** Text that occurs exactly once in each record, and nowhere else. */
const MARKS: Readonly<Record<TrackFormat, string>> = {
  csv: '\n',
  ndjson: '\n',
  gpx: '<trkpt ',
  geojson: '"type":"Feature",',
}

/** Counts the records of a history in the bytes that pass. */
class RecordCount {
  readonly #mark: Buffer
  readonly #header: number
  #tail: Buffer = Buffer.alloc(0)
  #marks = 0

  constructor(format: TrackFormat) {
    this.#mark = Buffer.from(MARKS[format])
    this.#header = format === 'csv' ? 1 : 0
  }

  add(bytes: Uint8Array): void {
    const mark = this.#mark
    const data = Buffer.concat([this.#tail, bytes])
    for (let at = data.indexOf(mark); at !== -1; at = data.indexOf(mark, at + mark.length)) this.#marks++
    // a mark may cross the border of two chunks, unless it is one byte
    this.#tail = mark.length === 1 ? this.#tail : data.subarray(1 - mark.length)
  }

  get records(): number {
    return Math.max(0, this.#marks - this.#header)
  }
}

/** `cartbarn export`: returns the exit code. */
export function runExport(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand('export', io, async () => {
    const options = parseExportOptions(argv, io)
    await new Export(options, io).run()
    return EXIT.ok
  })
}

const DEVICES_A_PAGE = 1000

type Sink = (bytes: Uint8Array) => Promise<void>

class Export {
  readonly #options: ExportOptions
  readonly #io: CommandIo
  readonly #client: ApiClient
  readonly #patience: RetryTimeout
  readonly #progress: Progress

  constructor(options: ExportOptions, io: CommandIo) {
    this.#options = options
    this.#io = io
    const { url, apiKey, retryForS } = options.gateway
    this.#client = new ApiClient({ url, apiKey })
    this.#progress = new Progress(io.stderr, options.isQuiet)
    const onAway = (reason: string) =>
      this.#progress.say(`no answer from the gateway (${reason}); trying again for up to ${retryForS} s`)
    this.#patience = new RetryTimeout({ retryForS, signal: io.signal, onAway })
  }

  async run(): Promise<void> {
    const { device, out, isForced } = this.#options
    const { stdout } = this.#io
    try {
      if (device === null) await this.#writeAll()
      else if (out === '-')
        this.#report('standard output', await this.#write(device, (bytes) => writeTo(stdout, bytes)))
      else {
        const path = pathFrom(this.#io, out)
        if (!isForced) requireFree(path)
        await this.#writeFile(device, path, 0, 1)
      }
    } finally {
      this.#progress.end()
    }
  }

  async #writeAll(): Promise<void> {
    const { out, isForced, history } = this.#options
    const folder = pathFrom(this.#io, out)
    const ids = await this.#deviceIds()
    try {
      await mkdir(folder, { recursive: true })
    } catch (error) {
      throw new CommandError(`${out} cannot be made a folder: ${systemCode(error)}`)
    }
    // all characters of a hardware id are allowed in file names
    const pathOf = (id: string) => join(folder, `${history.stream}-${fileNameOf(id)}.${history.format}`)
    if (!isForced) for (const id of ids) requireFree(pathOf(id))
    for (const [i, id] of ids.entries()) await this.#writeFile(id, pathOf(id), i, ids.length)
  }

  async #deviceIds(): Promise<string[]> {
    const ids: string[] = []
    for (;;) {
      const query = { limit: DEVICES_A_PAGE, offset: ids.length }
      const { devices } = await this.#patience.with((signal) => this.#client.call('GET /devices', { query, signal }))
      ids.push(...devices.map(({ hardware_id }) => hardware_id))
      if (devices.length < DEVICES_A_PAGE) return ids
    }
  }

  async #writeFile(id: string, path: string, index: number, files: number): Promise<void> {
    const file = await WholeFile.create(path)
    try {
      const written = await this.#write(id, (bytes) => file.write(bytes), index, files)
      await file.finish()
      this.#report(path, written)
    } catch (error) {
      await file.discard()
      throw error
    }
  }

  /** Returns a description of the amount. */
  async #write(id: string, sink: Sink, index = 0, files = 1): Promise<string> {
    const { stream, format } = this.#options.history
    const expected = files === 1 ? await this.#expectedRecords(id) : null
    const response = await this.#patience.with((signal) => this.#download(id, signal))
    const count = new RecordCount(format)
    let bytes = 0
    for await (const chunk of this.#chunks(response)) {
      await sink(chunk)
      count.add(chunk)
      bytes += chunk.length
      const share = files > 1 ? index / files : expected === null ? null : count.records / expected
      this.#progress.show(share, `${id}: ${amount(count.records, bytes)}`)
    }
    return `${amount(count.records, bytes)} of ${stream} of ${id}`
  }

  #report(name: string, written: string): void {
    this.#progress.say(`${name}: ${written}`)
  }

  /** Only for the bar: null if unknown, for example for a part of the history or for a user who is not an admin. */
  async #expectedRecords(id: string): Promise<number | null> {
    const { history, isQuiet } = this.#options
    const isPart = history.from > '1970-01-01T00:00:00.000Z' || history.to < '9999'
    if (isQuiet || isPart || this.#io.stderr.isTTY !== true) return null
    try {
      const { signal } = this.#io
      const counts = await this.#client.call('GET /devices/{id}/telemetry/stats', { path: { id }, signal })
      return counts[history.stream]
    } catch {
      return null
    }
  }

  #download(id: string, signal: AbortSignal): Promise<Response> {
    const { stream, ...query } = this.#options.history
    const call = { path: { id }, query: { ...query, order: 'asc' as const }, signal }
    return stream === 'gps'
      ? this.#client.download('GET /devices/{id}/gps', call)
      : this.#client.download('GET /devices/{id}/battery', call)
  }

  async *#chunks(response: Response): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of response.body ?? []) yield chunk
    } catch (error) {
      if (this.#io.signal.aborted || error instanceof CommandError) throw error
      throw new CommandError('the download broke off: run it again')
    }
  }
}

async function writeTo(stream: Writable, bytes: Uint8Array): Promise<void> {
  if (!stream.write(bytes)) await once(stream, 'drain')
}

function amount(records: number, bytes: number): string {
  return `${grouped(records)} records, ${(bytes / 1e6).toFixed(1)} MB`
}
