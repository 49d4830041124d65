import { CommandError, type CommandIo, EXIT, runCommand, UsageError } from '#scripts/cli/command.ts'
import { formatOfName, type TrackFormat } from '#scripts/cli/formats.ts'
import { grouped, Progress } from '#scripts/cli/progress.ts'
import { RetryTimeout } from '#scripts/cli/retry-timeout.ts'
import { ApiClient } from '#shared/client.ts'
import { checkRecord, type TrackRecord } from './check-record.ts'
import { CsvReader } from './csv-reader.ts'
import { GeojsonReader } from './geojson-reader.ts'
import { GpxReader } from './gpx-reader.ts'
import { ImportReport } from './import-report.ts'
import { NdjsonReader } from './ndjson-reader.ts'
import { type ImportOptions, parseImportOptions } from './options.ts'
import { openTrackFile, type TrackFile, textOf } from './track-file.ts'
import type { TrackReader, TrackSink } from './track-reader.ts'
import { Upload } from './upload.ts'

/** `cartbarn import`: returns the exit code. */
export function runImport(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand('import', io, async () => {
    const options = parseImportOptions(argv, io)
    let exitCode: number = EXIT.ok
    for (const path of options.files) exitCode = Math.max(exitCode, await new Import(path, options, io).run())
    return exitCode
  })
}

class Import {
  readonly #path: string
  readonly #format: TrackFormat
  readonly #options: ImportOptions
  readonly #io: CommandIo
  readonly #progress: Progress
  readonly #report = new ImportReport()

  constructor(path: string, options: ImportOptions, io: CommandIo) {
    this.#path = path
    this.#options = options
    this.#io = io
    const format = options.format ?? formatOfName(path)
    if (format === undefined) throw new UsageError(`the format of ${path} is unknown; give --format`)
    this.#format = format
    this.#progress = new Progress(io.stderr, options.isQuiet)
  }

  async run(): Promise<number> {
    const { stdout, stderr, signal } = this.#io
    const { device, gateway } = this.#options
    const file = await openTrackFile(this.#path, this.#io)
    signal.addEventListener('abort', () => file.stream.destroy(), { once: true })
    const upload = await this.#openUpload()
    const found: TrackRecord[] = []
    const reader = this.#createReader((record) => found.push(record))
    let failure: CommandError | undefined
    try {
      await this.#readAll(file, reader, found, upload)
      // a part of a file is worth more than nothing: records found before the fault are sent too
    } catch (error) {
      this.#progress.end()
      file.stream.destroy()
      if (signal.aborted) failure = new CommandError('interrupted; run it again to continue')
      else if (error instanceof CommandError) failure = error
      else throw error
    }
    this.#progress.end()
    stdout.write(`${file.name} -> ${device ?? 'the devices it names'}\n`)
    stdout.write(this.#report.summary(reader.placeName, this.#progress.elapsedS, gateway === null))
    if (failure !== undefined) stderr.write(`import: ${failure.message}\n`)
    if (signal.aborted) return EXIT.interrupted
    return failure === undefined && !this.#isAllLost() ? EXIT.ok : EXIT.failed
  }

  async #readAll(file: TrackFile, reader: TrackReader, found: TrackRecord[], upload: Upload | null): Promise<void> {
    let bytesRead = 0
    const send = async () => {
      for (const record of found.splice(0)) {
        this.#io.signal.throwIfAborted()
        if (upload !== null) await this.#send(record, upload)
        this.#show(file, bytesRead)
      }
    }
    try {
      for await (const text of textOf(
        file,
        this.#options.encoding,
        this.#format === 'gpx',
        (bytes) => (bytesRead = bytes),
      )) {
        reader.read(text)
        await send()
      }
      reader.end()
    } finally {
      if (!this.#io.signal.aborted) {
        await send()
        await upload?.finish()
      }
    }
  }

  async #send(record: TrackRecord, upload: Upload): Promise<void> {
    const device = this.#options.device ?? record.hardwareId
    if (device !== null) await upload.add(device, record)
  }

  /** Returns null for a dry run. Checks the device and the key before anything is read. */
  async #openUpload(): Promise<Upload | null> {
    const { gateway, device } = this.#options
    if (gateway === null) return null
    const { signal } = this.#io
    const { url, apiKey, retryForS } = gateway
    const client = new ApiClient({ url, apiKey })
    const onAway = (reason: string) =>
      this.#progress.say(`no answer from the gateway (${reason}); trying again for up to ${retryForS} s`)
    const patience = new RetryTimeout({ retryForS, signal, onAway })
    if (device === null)
      await patience.with((limit) => client.call('GET /devices', { query: { limit: 1 }, signal: limit }))
    else
      await patience.with((limit) =>
        client.call('GET /devices/{id}/telemetry/stats', { path: { id: device }, signal: limit }),
      )
    return new Upload(client, patience, this.#report)
  }

  #createReader(onRecord: (record: TrackRecord) => void): TrackReader {
    const { mapping, delimiter, device, kmhPerSpeedUnit, isUtc } = this.#options
    const report = this.#report
    const drop: TrackSink['drop'] = (reason, place, value) => report.drop(reason, place, value)
    // GPX has only this unit, and its times are UTC
    const reading = this.#format === 'gpx' ? { kmhPerSpeedUnit: 3.6, isUtc: true } : { kmhPerSpeedUnit, isUtc }
    const sink: TrackSink = {
      record: (found) => {
        report.read++
        const record = checkRecord(found, reading, drop)
        if (record === undefined) return
        if (device === null && record.hardwareId === null) {
          drop('no_hardware_id', found.place)
          return
        }
        report.usable++
        report.sawTime(record.atMs)
        onRecord(record)
      },
      drop: (reason, place) => {
        report.read++
        drop(reason, place)
      },
    }
    switch (this.#format) {
      case 'gpx':
        return new GpxReader(sink)
      case 'csv':
        return new CsvReader({ delimiter, mapping }, sink)
      case 'ndjson':
        return new NdjsonReader(mapping, sink)
      case 'geojson':
        return new GeojsonReader(mapping, sink)
    }
  }

  /** A file without usable records is most likely the wrong file. */
  #isAllLost(): boolean {
    const { read, usable, settled } = this.#report
    return read > 0 && (this.#options.gateway === null ? usable : settled) === 0
  }

  #show({ bytes, name }: TrackFile, bytesRead: number): void {
    const share = bytes === null || bytes === 0 ? null : bytesRead / bytes
    const rate = grouped(this.#report.read / this.#progress.elapsedS)
    this.#progress.show(share, `${name}: ${grouped(this.#report.read)} records, ${rate}/s`)
  }
}
