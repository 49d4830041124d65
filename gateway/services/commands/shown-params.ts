import { FETCH_GEOFENCES_NAME } from '#devices/commands.ts'
import { type Caller, isAdmin } from '#domain/access.ts'
import type { CommandRow } from '#store/tables/commands.ts'

/**
 * The parameters of a command as they are shown. The address a device gets its zones from has a token in it, which
 * would open to others what only admins may read. `caller` is null where nobody knows who will read it.
 */
export function shownParams(
  { command, paramsJson }: Pick<CommandRow, 'command' | 'paramsJson'>,
  caller: Caller | null,
): Record<string, unknown> {
  const params: Record<string, unknown> = JSON.parse(paramsJson)
  if (command !== FETCH_GEOFENCES_NAME || (caller !== null && isAdmin(caller))) return params
  return { ...params, url: 'sent to the device' }
}
