import type { MachineIds } from '#domain/machine.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const machineTable = table('machine', {
  care: {
    what: 'which machine the gateway runs on',
    meaning: 'The next start takes the machine that it finds.',
  },
  json: {
    signs: { type: 'object', cure: 'delete' },
  },
})

/** The machine that this database was used on; empty when nothing is known of it. */
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
    // a start of the machine of before
    audit: null,
  },
)

/** A person says that this is the machine of this course; null for the one that the next start finds. */
export const confirmMachine = write(
  (connection: Connection, { signs }: { signs: MachineIds | null }): null => {
    if (signs === null) forgetMachine(connection)
    else noteMachine(connection, { signs })
    return null
  },
  { audit: () => () => [event('machine.confirmed', 'machine', null)] },
)

/** The next start takes the machine that it finds. */
export function forgetMachine(connection: Connection): void {
  connection.run('DELETE FROM machine')
}
