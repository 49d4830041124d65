import type { CommandDefinition, DeviceType } from '#devices/device-type.ts'
import { ConflictError, type FieldError, InvalidRequestError } from '#shared/errors.ts'
import { type ValidationError, validate } from '#shared/wire/schema/object-schema.ts'
import type { CommandRow } from '#store/tables/commands.ts'

export interface CommandRequest {
  command: string
  params: Record<string, unknown>
  metadata: Record<string, unknown> | null
  /** Time to live in seconds; undefined for the default of the command. */
  ttlS: number | undefined
  /** Locks despite the rule of safe locks, as far as the caller may. */
  force?: true | undefined
}

export interface DeviceTypeLookup {
  find(name: string): DeviceType | undefined
  all(): readonly DeviceType[]
  /** Throws `unknown_device_type`. */
  requireKnown(name: string, where: 'body' | 'path'): DeviceType
}

export function definitionOf(type: DeviceType | undefined, command: string): CommandDefinition | undefined {
  return type !== undefined && Object.hasOwn(type.commands, command) ? type.commands[command] : undefined
}

/** Throws `unknown_command`, or `unsupported_command` for a command that only other device types support. */
export function requireDefinition(types: DeviceTypeLookup, typeName: string, command: string): CommandDefinition {
  const type = types.find(typeName)
  const definition = definitionOf(type, command)
  if (definition !== undefined) return definition
  const known = Object.keys(type?.commands ?? {}).join(', ')
  throw refusal(types, command, `not supported by ${typeName}, which supports: ${known === '' ? 'none' : known}`)
}

/** Throws `unknown_command` if no device type supports the command. */
export function requireKnown(types: DeviceTypeLookup, command: string): void {
  if (types.all().some((type) => definitionOf(type, command) !== undefined)) return
  const known = new Set(types.all().flatMap((type) => Object.keys(type.commands)))
  throw refusal(types, command, `unknown command; use one of: ${[...known].join(', ')}`)
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

/** Throws with the code of the first invalid parameter. */
export function requireParams(definition: CommandDefinition, params: Record<string, unknown>): void {
  const errors = validate(definition.params, params).map(
    ({ name, kind, detail }): FieldError => ({
      in: 'body',
      name: `params.${name}`,
      code: CODE_OF[kind],
      detail: kind === 'unknown' ? 'is not a parameter of this command' : detail,
    }),
  )
  const [first] = errors
  if (first === undefined) return
  throw new InvalidRequestError(first.code, errors.map(({ name, detail }) => `${name}: ${detail}`).join('; '), errors)
}

/** Throws unless a command may be repeated: one that is completed or may still be executed must not. */
export function requireFailed({ commandId, status }: CommandRow): void {
  if (status === 'failed' || status === 'timeout') return
  if (status === 'completed')
    throw new ConflictError('command_completed', `command ${commandId} is completed: send a new one`)
  throw new ConflictError('command_not_finished', `command ${commandId} is ${status}: it may still be executed`)
}
