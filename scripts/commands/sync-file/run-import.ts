import { createReadStream, existsSync } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CommandError, type CommandIo, EXIT, pathFrom, runCommand } from '#scripts/cli/command.ts'
import { address, createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { KEY_VARIABLE, requireKey } from '#scripts/cli/gateway-options.ts'
import { ApiError } from '#shared/client.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { syncFileLineSchema, syncFileReceiptSchema } from '#shared/wire/replication/sync-file.ts'
import { WholeFile } from '../export/whole-file.ts'
import { answered } from './run-export.ts'

const HEAD_BYTES = 65_536

export function runSyncImport(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand('sync-import', io, async () => {
    const command = createCommandLine('sync-import', io)
      .description(
        'Takes a file that a gateway wrote with sync-export into the hub, which must be running. What the hub has ' +
          'already is passed over, so the same file twice does no harm. FILE.receipt.json goes back to the gateway.',
      )
      .argument('<file>')
      .option('--hub <url>', "the hub's address", address('http:', 'https:'), 'http://127.0.0.1:8090')
      .option('--key <key>', `an admin's key of the hub (environment: ${KEY_VARIABLE}, which ps does not show)`)
      .option('--key-file <file>', 'instead: the file that holds it')
    const parsed = parseCommandLine(command, argv)
    const [file] = parsed.processedArgs
    const { hub, ...given } = parsed.opts()
    await importFile(io, pathFrom(io, file), {
      url: hub,
      key: requireKey(given, io),
    })
    return EXIT.ok
  })
}

async function importFile(io: CommandIo, path: string, hub: { url: string; key: string }): Promise<void> {
  if (!existsSync(path)) throw new CommandError(`there is no ${path}`)
  const site = await siteOf(path)
  const request = `POST /sites/${site}/import`
  const response = await answered(hub.url, () =>
    fetch(`${hub.url}/sites/${site}/import`, {
      method: 'POST',
      headers: { 'X-API-Key': hub.key, 'Content-Type': 'application/gzip' },
      // the body is read while it is sent
      body: Readable.toWeb(createReadStream(path)) as ReadableStream,
      duplex: 'half',
      signal: io.signal,
    } as RequestInit),
  )
  const text = await response.text()
  if (!response.ok) throw new CommandError(new ApiError(request, response, text).message)
  const receipt = syncFileReceiptSchema.parse(JSON.parse(text))
  const file = await WholeFile.create(`${path}.receipt.json`)
  await file.write(Buffer.from(`${JSON.stringify(receipt)}\n`))
  await file.finish()
  const { taken, known, rows } = receipt
  io.stderr.write(
    `${rows.toLocaleString('en-US')} rows in ${taken} new parts; ${known} parts were there already. ` +
      `Take ${path}.receipt.json back: ${typedCommand('sync-export --receipt')}\n`,
  )
}

/**
 * Returns the site in a file's first line, once read whole: an incomplete file would move the hub's cursors too far.
 */
async function siteOf(path: string): Promise<string> {
  let head = ''
  let tail = ''
  try {
    const unpacked = pipeline(createReadStream(path), createGunzip(), () => undefined)
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      const text = chunk.toString('latin1')
      if (head.length < HEAD_BYTES && !head.includes('\n')) head += text
      tail = (tail + text).slice(-HEAD_BYTES)
    }
  } catch {
    throw new CommandError(`${path} is not a complete file of sync:export: copy it again`)
  }
  const first = readLine(head.split('\n')[0])
  if (first === undefined || !('head' in first)) throw new CommandError(`${path} is not a file of sync:export`)
  const last = readLine(tail.split('\n').at(-2))
  if (last === undefined || !('end' in last))
    throw new CommandError(`${path} is not a complete file of sync:export: copy it again`)
  return first.head.site
}

function readLine(text = '') {
  try {
    return syncFileLineSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
