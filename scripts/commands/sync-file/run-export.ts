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
import { GATEWAY_OPTIONS, gatewayOptions, parseCommandLine } from '#scripts/cli/gateway-options.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { syncFileReceiptSchema } from '#shared/wire/sync-file.ts'
import { requireFree, WholeFile } from '../export/whole-file.ts'

const HELP = `Writes what the head office of a gateway lacks into a file, to be carried there where no network goes.

  npm run sync:export -- --out FILE [options]     at the gateway, which must be running
  npm run sync:import -- FILE                     at the head office; writes FILE.receipt.json
  npm run sync:export -- --receipt FILE [options] at the gateway, when the receipt is back

Until it has the receipt, or is online, the gateway keeps what was in the file, and writes it into the next one again.

  --out FILE      FILE is there once it is complete
  --receipt FILE  what the head office answered to the last file
  --force         write over a file that is there
  --url URL       the gateway's HTTP address (http://127.0.0.1:8080)
  --key KEY       an admin's API key (environment: CARTBARN_API_KEY)
  --help          this text
`

const SPECIFICATION = {
  ...{ url: GATEWAY_OPTIONS.url, key: GATEWAY_OPTIONS.key, help: GATEWAY_OPTIONS.help },
  out: { type: 'string' },
  receipt: { type: 'string' },
  force: { type: 'boolean', default: false },
} as const

/** The command; returns its exit code. */
export function runSyncExport(args: string[], io: CommandIo): Promise<number> {
  return runCommand('sync:export', io, async () => {
    const { values } = parseCommandLine({ args, options: SPECIFICATION })
    if (values.help) {
      io.stdout.write(HELP)
      return EXIT.ok
    }
    if ((values.out === undefined) === (values.receipt === undefined))
      throw new UsageError('either --out or --receipt is needed')
    const { url, apiKey } = gatewayOptions({ ...values, 'retry-for': '0' }, io.env)
    const gateway = { url, apiKey, signal: io.signal }
    if (values.out !== undefined) await writeFile(io, gateway, pathFrom(io, values.out), values.force)
    else if (values.receipt !== undefined) await giveReceipt(io, gateway, pathFrom(io, values.receipt))
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
    `${path}: ${bytes.toLocaleString('en-US')} bytes. Carry it to the head office: npm run sync:import\n`,
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
  io.stderr.write(
    `the gateway knows that the head office has ${receipt.rows.toLocaleString('en-US')} rows more\n`,
  )
}

async function readReceipt(path: string) {
  try {
    return syncFileReceiptSchema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    const code = systemCode(error)
    throw new CommandError(code === undefined ? `${path} is no receipt` : `${path} cannot be read: ${code}`)
  }
}

/** Throws `CommandError` when nobody answers. */
export async function answered(url: string, ask: () => Promise<Response>): Promise<Response> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error
    throw new CommandError(`no answer from ${url}`)
  }
}
