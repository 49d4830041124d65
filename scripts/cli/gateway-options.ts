import { describeError } from '#shared/errors.ts'
import { readSecretFile } from '#shared/files/secret-files.ts'
import { type CommandIo, pathFrom, UsageError } from './command.ts'
import { address, createCommandLine, number } from './command-line.ts'

/** Variable with the key, for every command that calls a gateway or a hub. */
export const KEY_VARIABLE = 'CARTBARN_API_KEY'
/** Variables that some of them read before. */
const FORMER_VARIABLES = ['CARTBARN_ADMIN_API_KEY', 'CARTBARN_HUB_API_KEY', 'CARTBARN_HUB_ADMIN_API_KEY']

/** Address of the gateway, its key, and the time to retry while it is unreachable. */
export interface GatewayOptions {
  url: string
  apiKey: string
  retryForS: number
}

/** Creates the options of a command that calls a gateway. */
export function createGatewayCommandLine(name: string, io: CommandIo) {
  return createCommandLine(name, io)
    .option('--url <url>', "the gateway's HTTP address", address('http:', 'https:'), 'http://127.0.0.1:8080')
    .option('--key <key>', `an API key (environment: ${KEY_VARIABLE}, which ps does not show)`)
    .option('--key-file <file>', 'instead: the file that holds it')
}

/** Like `createGatewayCommandLine`, for a command that retries while the gateway is unreachable. */
export function createPatientCommandLine(name: string, io: CommandIo) {
  return createGatewayCommandLine(name, io)
    .option('--retry-for <s>', 'seconds to retry while the gateway is unreachable', number(0, 1e9), 300)
    .option('--quiet', 'no progress')
}

/** Key of a command: itself, or in a file. */
export interface GivenKey {
  key?: string | undefined
  keyFile?: string | undefined
}

/** Key from `--key`, `--key-file` or the environment. Throws `UsageError` without one, or if both options are given. */
export function requireKey({ key, keyFile }: GivenKey, io: Pick<CommandIo, 'env' | 'folder'>): string {
  if (key !== undefined && keyFile !== undefined) throw new UsageError('either --key or --key-file is needed, not both')
  const found = keyFile === undefined ? (key ?? io.env[KEY_VARIABLE] ?? '') : keyIn(keyFile, io)
  if (found !== '') return found
  const former = FORMER_VARIABLES.find((name) => io.env[name])
  throw new UsageError(
    'an API key is needed: --key, --key-file or ' +
      `${KEY_VARIABLE}${former === undefined ? '' : ` (commands do not read ${former})`}`,
  )
}

function keyIn(file: string, io: Pick<CommandIo, 'folder'>): string {
  try {
    return readSecretFile(pathFrom(io, file))
  } catch (error) {
    throw new UsageError(`--key-file: ${describeError(error)}`)
  }
}
