import { FETCH_GEOFENCES_NAME } from '#devices/commands.ts'
import { type Caller, isAdmin } from '#domain/access.ts'
import type { CommandRow } from '#store/tables/commands.ts'

/**
 * Returns the parameters of a command for display. The address from which a device downloads its zones contains a token
 * that would give others access to data of admins. `caller` is null if the reader is unknown.
 */
export function shownParams(
  { command, paramsJson }: Pick<CommandRow, 'command' | 'paramsJson'>,
  caller: Caller | null,
): Record<string, unknown> {
  const params: Record<string, unknown> = JSON.parse(paramsJson)
  if (command !== FETCH_GEOFENCES_NAME || (caller !== null && isAdmin(caller))) return params
  return { ...params, url: 'sent to the device' }
}
