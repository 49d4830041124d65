import type { MachineIds } from '#domain/machine.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const machineTable = table('machine', {
  care: {
    what: 'the gateway computer',
    meaning: 'The next start stores the current one.',
  },
  json: {
    signs: { type: 'object', cure: 'delete' },
  },
})

/** Identifiers of the host that last used this database; empty if unknown. */
export function knownMachine(connection: Connection): MachineIds {
  const row = connection.get<{ signs: string }>('SELECT signs FROM machine')
  // written by this program only
  return row === undefined ? {} : JSON.parse(row.signs)
}

export const noteMachine = write(
  (connection: Connection, { signs }: { signs: MachineIds }): null => {
    connection.run('INSERT OR REPLACE INTO machine (only, signs) VALUES (1, ?)', JSON.stringify(signs))
    return null
  },
  {
    // a start on the previous host
    audit: null,
  },
)

/** Confirms this host as the one of the site; null leaves the choice to the next start. */
export const confirmMachine = write(
  (connection: Connection, { signs }: { signs: MachineIds | null }): null => {
    if (signs === null) forgetMachine(connection)
    else noteMachine(connection, { signs })
    return null
  },
  { audit: () => () => [event('machine.confirmed', 'machine', null)] },
)

/** Deletes the stored host; the next start stores its own. */
export function forgetMachine(connection: Connection): void {
  connection.run('DELETE FROM machine')
}
