import { describeError } from '#shared/errors.ts'
import { readSecretFile } from '#shared/files/secret-files.ts'
import { type CommandIo, pathFrom, UsageError } from './command.ts'
import { address, createCommandLine, number } from './command-line.ts'

/** What every command that asks a gateway or a head office takes its key from. */
export const KEY_VARIABLE = 'CARTBARN_API_KEY'
/** What some of them took it from before. */
const FORMER_VARIABLES = ['CARTBARN_ADMIN_API_KEY', 'CARTBARN_HUB_API_KEY', 'CARTBARN_HUB_ADMIN_API_KEY']

/** Where the gateway is, and how long it may be away. */
export interface GatewayOptions {
  url: string
  apiKey: string
  retryForS: number
}

/** The options of a command that asks a gateway. */
export function createGatewayCommandLine(name: string, io: CommandIo) {
  return createCommandLine(name, io)
    .option('--url <url>', "the gateway's HTTP address", address('http:', 'https:'), 'http://127.0.0.1:8080')
    .option('--key <key>', `an API key (environment: ${KEY_VARIABLE}, which ps does not show)`)
    .option('--key-file <file>', 'instead: the file that holds it')
}

/** The same, of a command that waits for a gateway that is away. */
export function createPatientCommandLine(name: string, io: CommandIo) {
  return createGatewayCommandLine(name, io)
    .option('--retry-for <s>', 'seconds to go on trying while the gateway is away', number(0, 1e9), 300)
    .option('--quiet', 'no progress')
}

/** How a command is given a key: itself, or in a file. */
export interface GivenKey {
  key?: string | undefined
  keyFile?: string | undefined
}

/**
 * The key that was given with `--key` or `--key-file`, or the one in the environment. Throws `UsageError` when
 * there is none, or there are two.
 */
export function requireKey({ key, keyFile }: GivenKey, io: Pick<CommandIo, 'env' | 'folder'>): string {
  if (key !== undefined && keyFile !== undefined) throw new UsageError('either --key or --key-file is needed, not both')
  const found = keyFile === undefined ? (key ?? io.env[KEY_VARIABLE] ?? '') : keyIn(keyFile, io)
  if (found !== '') return found
  const former = FORMER_VARIABLES.find((name) => io.env[name])
  throw new UsageError(
    `an API key is needed: --key, --key-file or ${KEY_VARIABLE}${former === undefined ? '' : ` (commands do not read ${former})`}`,
  )
}

function keyIn(file: string, io: Pick<CommandIo, 'folder'>): string {
  try {
    return readSecretFile(pathFrom(io, file))
  } catch (error) {
    throw new UsageError(`--key-file: ${describeError(error)}`)
  }
}
