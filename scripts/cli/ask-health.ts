import { requestLocal } from '#shared/http/request-local.ts'
import { CommandError, type CommandIo, EXIT } from './command.ts'

/** Prints the health of the program at an address of this machine; throws `CommandError` unless it is healthy. */
export async function askHealth(origin: string, { stdout }: CommandIo): Promise<number> {
  const answer = await requestLocal(`${origin}/health`)
  if (answer === null) throw new CommandError(`nothing answers at ${origin}: is it running with these settings?`)
  if (answer.status !== 200) throw new CommandError(`${origin} is not well: ${answer.text.slice(0, 300)}`)
  stdout.write('ok\n')
  return EXIT.ok
}
