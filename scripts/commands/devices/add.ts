import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import {
  CommandError,
  type CommandIo,
  EXIT,
  pathFrom,
  type RunCommand,
  runCommand,
  systemCode,
} from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { createGatewayCommandLine, requireKey } from '#scripts/cli/gateway-options.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

type Credentials = AnswerOf<'POST /devices/import'>['credentials']

/** File for passwords that are shown only once: created before they are, so that a failure to create it loses none. */
class CredentialsFile {
  readonly #path: string
  readonly #file: number

  private constructor(path: string, file: number) {
    this.#path = path
    this.#file = file
  }

  /** Creates a file readable only by its owner; never replaces another. Throws `CommandError`. */
  static create(path: string): CredentialsFile {
    try {
      return new CredentialsFile(path, openSync(path, 'wx', 0o600))
    } catch (error) {
      const code = systemCode(error)
      if (code === 'EEXIST')
        throw new CommandError(`${path} exists, and may have passwords: name another one with --credentials`)
      if (code === undefined) throw error
      throw new CommandError(`${path} cannot be written: ${code}`, { cause: error })
    }
  }

  /** Returns once all of them are on the disk. */
  write(credentials: Credentials): void {
    const lines = credentials.map((one) => [one.hardware_id, one.username, one.password].map(field).join(','))
    writeSync(this.#file, `${['hardware_id,username,password', ...lines].join('\n')}\n`)
    fsyncSync(this.#file)
    closeSync(this.#file)
  }

  /** Deletes the file: there is nothing to store. */
  discard(): void {
    closeSync(this.#file)
    rmSync(this.#path, { force: true })
  }
}

function field(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

type Added = AnswerOf<'POST /devices/import'>

/** Maximum number of faulty lines that are listed. */
const MAX_FAULTS = 20

/** `cartbarn devices add`: shows what a CSV file would change, and with --yes registers its devices. */
export const addDevices: RunCommand = (argv, io) =>
  runCommand('devices add', io, async () => {
    const command = createGatewayCommandLine('devices add', io)
      .description(
        'Registers the devices of a CSV file at a running gateway, or changes those it knows: all of its lines or ' +
          'none. The first line names the columns: hardware_id, and if wanted device_type, name, cart and group. ' +
          'Without --yes it shows the changes without making them. The MQTT passwords of new devices go into a ' +
          'file that only you can read; the gateway keeps no copy and shows them only this once.',
      )
      .argument('<file>', 'the list; comma, semicolon or tab between the fields')
      .option('--yes', 'register them')
      .option('--credentials <file>', 'the new file for the passwords', 'new-devices.csv')
    const parsed = parseCommandLine(command, argv)
    const { url, yes = false, credentials, ...given } = parsed.opts()
    const apiKey = requireKey(given, io)
    const list = await readList(pathFrom(io, parsed.args[0] ?? ''))
    const api = new ApiClient({ url, apiKey, signal: io.signal })
    const add = (isDryRun: boolean) =>
      inWords(url, api.call('POST /devices/import', { query: { dry_run: isDryRun ? 'true' : 'false' }, body: list }))
    // an invalid list is reported before a file is created
    const planned = await add(true)
    if (!yes) {
      io.stdout.write(`Would be ${counts(planned)}. Nothing was changed: --yes does it.\n`)
      return EXIT.ok
    }
    const path = pathFrom(io, credentials)
    const file = planned.created === 0 ? undefined : CredentialsFile.create(path)
    const added = await add(false).catch((error: unknown) => {
      file?.discard()
      throw error
    })
    printAdded(io, added, file, path)
    return EXIT.ok
  })

function printAdded(io: CommandIo, added: Added, file: CredentialsFile | undefined, path: string): void {
  io.stdout.write(`${counts(added)}.\n`)
  if (added.credentials.length === 0) {
    file?.discard()
    return
  }
  // another program may have registered some since the dry run
  const into = file ?? CredentialsFile.create(path)
  into.write(added.credentials)
  io.stdout.write(
    `${path} has the MQTT user names and passwords of the new devices. Put them on the devices, then delete it.\n`,
  )
}

function counts({ created, updated, unchanged }: Added): string {
  return `${created} registered, ${updated} changed, ${unchanged} as they were`
}

async function readList(path: string): Promise<Blob> {
  try {
    return new Blob([await readFile(path)], { type: 'text/csv' })
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    throw new CommandError(`${path} cannot be read: ${code}`)
  }
}

async function inWords(url: string, answer: Promise<Added>): Promise<Added> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiError) throw new CommandError(describe(error), { cause: error })
    if (error instanceof Error && error.name === 'AbortError') throw error
    throw new CommandError(`no answer from ${url}: try again, which changes nothing that is done already`, {
      cause: error,
    })
  }
}

function describe({ detail, status, lines }: ApiError): string {
  if (lines.length === 0) return `the gateway answers ${status}: ${detail}`
  const shown = lines.slice(0, MAX_FAULTS).map((fault) => `  line ${fault.line}: ${fault.message}`)
  const more = lines.length - shown.length
  const what = `${lines.length} of its lines ${lines.length === 1 ? 'is' : 'are'} wrong, and nothing was changed:`
  return [what, ...shown, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n')
}
