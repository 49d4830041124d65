import type { CommandDefinition, DeviceType } from '#devices/device-type.ts'
import { ConflictError, type FieldError, InvalidRequestError } from '#shared/errors.ts'
import { type ValidationError, validate } from '#shared/wire/schema/object-schema.ts'
import type { CommandRow } from '#store/tables/commands.ts'

/** What a caller asks devices to do. */
export interface CommandRequest {
  command: string
  params: Record<string, unknown>
  metadata: Record<string, unknown> | null
  /** Undefined for the command's own. */
  ttlS: number | undefined
  /** Locks in spite of the rule of safe locks, as far as the caller may. */
  force?: true | undefined
}

/** The kinds of devices there are. */
export interface DeviceTypeLookup {
  find(name: string): DeviceType | undefined
  all(): readonly DeviceType[]
  /** Throws `unknown_device_type`. */
  requireKnown(name: string, where: 'body' | 'path'): DeviceType
}

/** What a kind of device knows of a command. */
export function definitionOf(type: DeviceType | undefined, command: string): CommandDefinition | undefined {
  return type !== undefined && Object.hasOwn(type.commands, command) ? type.commands[command] : undefined
}

/** Throws `unknown_command`, or `unsupported_command` for one that only other kinds of devices know. */
export function requireDefinition(types: DeviceTypeLookup, typeName: string, command: string): CommandDefinition {
  const type = types.find(typeName)
  const definition = definitionOf(type, command)
  if (definition !== undefined) return definition
  const known = Object.keys(type?.commands ?? {}).join(', ')
  throw refusal(types, command, `${typeName} obeys: ${known === '' ? 'nothing' : known}`)
}

/** Throws `unknown_command` when no kind of device knows the command. */
export function requireKnown(types: DeviceTypeLookup, command: string): void {
  if (types.all().some((type) => definitionOf(type, command) !== undefined)) return
  const known = new Set(types.all().flatMap((type) => Object.keys(type.commands)))
  throw refusal(types, command, `known are: ${[...known].join(', ')}`)
}

function refusal(types: DeviceTypeLookup, command: string, known: string): InvalidRequestError {
  const isKnown = types.all().some((type) => definitionOf(type, command) !== undefined)
  const code = isKnown ? 'unsupported_command' : 'unknown_command'
  return new InvalidRequestError(code, `${command}: ${known}`, [{ in: 'body', name: 'command', code, detail: known }])
}

const CODE_OF: Record<ValidationError['kind'], string> = {
  unknown: 'unknown_field',
  missing: 'missing_field',
  wrong: 'invalid_field',
}

/** Throws with the code of the first parameter that does not fit. */
export function requireParams(definition: CommandDefinition, params: Record<string, unknown>): void {
  const errors = validate(definition.params, params).map(
    ({ name, kind, detail }): FieldError => ({
      in: 'body',
      name: `params.${name}`,
      code: CODE_OF[kind],
      detail: kind === 'unknown' ? 'is no parameter of this command' : detail,
    }),
  )
  const [first] = errors
  if (first === undefined) return
  throw new InvalidRequestError(first.code, errors.map(({ name, detail }) => `${name}: ${detail}`).join('; '), errors)
}

/** Throws unless a command may be tried again: what is done or may still be done is not. */
export function requireFailed({ commandId, status }: CommandRow): void {
  if (status === 'failed' || status === 'timeout') return
  if (status === 'completed')
    throw new ConflictError('command_completed', `command ${commandId} is completed: send a new one`)
  throw new ConflictError('command_not_finished', `command ${commandId} is ${status}: it may still be done`)
}
