import { readFile } from 'node:fs/promises'
import {
  CommandError,
  type CommandIo,
  EXIT,
  pathFrom,
  runCommand,
  systemCode,
  UsageError,
} from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { createGatewayCommandLine, requireKey } from '#scripts/cli/gateway-options.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { syncFileReceiptSchema } from '#shared/wire/replication/sync-file.ts'
import { requireFree, WholeFile } from '../export/whole-file.ts'

export function runSyncExport(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand('sync-export', io, async () => {
    const command = createGatewayCommandLine('sync-export', io)
      .description(
        'Writes the data that the hub of a gateway lacks into a file, to be carried there without a network: ' +
          'first --out FILE at the gateway, then sync-import FILE at the hub, which writes FILE.receipt.json, ' +
          'then --receipt FILE.receipt.json at the gateway. Until the gateway has the receipt, or is online, it ' +
          'keeps ' +
          'what was in the file, and writes it into the next one again.',
      )
      .option('--out <file>', 'the file to write; it is there once it is complete')
      .option('--receipt <file>', 'the receipt of the hub for the last file')
      .option('--force', 'write over a file that is there')
    const { url, out, receipt, force = false, ...given } = parseCommandLine(command, argv).opts()
    if ((out === undefined) === (receipt === undefined)) throw new UsageError('either --out or --receipt is needed')
    const gateway = { url, apiKey: requireKey(given, io), signal: io.signal }
    if (out !== undefined) await writeFile(io, gateway, pathFrom(io, out), force)
    else if (receipt !== undefined) await giveReceipt(io, gateway, pathFrom(io, receipt))
    return EXIT.ok
  })
}

interface Gateway {
  url: string
  apiKey: string
  signal: AbortSignal
}

async function writeFile(io: CommandIo, gateway: Gateway, path: string, isForced: boolean): Promise<void> {
  if (!isForced) requireFree(path)
  const response = await answered(gateway.url, () =>
    fetch(`${gateway.url}/sync/export`, { headers: { 'X-API-Key': gateway.apiKey }, signal: gateway.signal }),
  )
  if (!response.ok || response.body === null)
    throw new CommandError(new ApiError('GET /sync/export', response, await response.text()).message)
  const file = await WholeFile.create(path)
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      await file.write(chunk)
      bytes += chunk.length
    }
    await file.finish()
  } catch (error) {
    await file.discard()
    if (error instanceof CommandError || gateway.signal.aborted) throw error
    throw new CommandError('the gateway broke off: try again')
  }
  io.stderr.write(
    `${path}: ${bytes.toLocaleString('en-US')} bytes. Carry it to the hub: ${typedCommand('sync-import')}\n`,
  )
}

async function giveReceipt(io: CommandIo, gateway: Gateway, path: string): Promise<void> {
  const receipt = await readReceipt(path)
  const client = new ApiClient(gateway)
  try {
    await client.call('POST /sync/receipts', { body: receipt })
  } catch (error) {
    if (error instanceof ApiError) throw new CommandError(error.message)
    throw new CommandError(`no answer from ${gateway.url}`)
  }
  io.stderr.write(`the gateway has recorded that the hub has ${receipt.rows.toLocaleString('en-US')} rows more\n`)
}

async function readReceipt(path: string) {
  try {
    return syncFileReceiptSchema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    const code = systemCode(error)
    throw new CommandError(code === undefined ? `${path} is not a receipt` : `${path} cannot be read: ${code}`)
  }
}

/** Throws `CommandError` if the gateway does not respond. */
export async function answered(url: string, ask: () => Promise<Response>): Promise<Response> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error
    throw new CommandError(`no answer from ${url}`)
  }
}
