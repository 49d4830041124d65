import { changed, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { names, table } from '../db/table.ts'
import { judgeAgain, type SavedEntry, saveServiceEntry } from '../service/service.ts'

export const cartNoteTable = table('cart_note', {
  care: {
    what: 'the staff notes on carts',
    isRemembered: true,
    meaning: 'Carts without a row are golf carts in service without special access until staff set it again.',
  },
  json: {
    out_of_service: { type: 'object', cure: 'null' },
    exempt: { type: 'object', cure: 'null' },
    meter: { type: 'object', where: 'meter IS NOT NULL', cure: 'null' },
  },
  replicated: {
    columns: names('cart, out_of_service, exempt, note, kind, meter, updated_at_ms'),
    times: ['updated_at_ms'],
    key: 't.cart',
    where: 't.cart = ?',
  },
  erases: { json: ['out_of_service', 'exempt'], texts: ['note'] },
  noun: 'cart',
})

export interface CartNoteRow {
  cart: string
  /** JSON, like `exempt`; null if not set. */
  outOfService: string | null
  exempt: string | null
  note: string | null
  /** Null for a golf cart. */
  kind: string | null
  /** JSON; null if not set. */
  meter: string | null
}

/** Notes on a cart, with the entry of the service book that the change makes. */
export type SavedCartNote = CartNoteRow & { nowMs: number; entry: SavedEntry | null }

export function listCartNotes(connection: Connection): CartNoteRow[] {
  const columns = 'cart, out_of_service, exempt, note, kind, meter'
  return connection.all<CartNoteRow>(`SELECT ${columns} FROM cart_note ORDER BY cart`)
}

/** Saves a note; deletes the row of an empty one. */
export const saveCartNote = write(
  (connection: Connection, { cart, outOfService, exempt, note, kind, meter, nowMs, entry }: SavedCartNote): null => {
    if (entry !== null) saveServiceEntry(connection, entry)
    judgeAgain(connection)
    if ([outOfService, exempt, note, kind, meter].every((value) => value === null)) {
      connection.run('DELETE FROM cart_note WHERE cart = ?', cart)
      return null
    }
    connection.run(
      `INSERT INTO cart_note (cart, out_of_service, exempt, note, kind, meter, updated_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET out_of_service = excluded.out_of_service, exempt = excluded.exempt,
       note = excluded.note, kind = excluded.kind, meter = excluded.meter, updated_at_ms = excluded.updated_at_ms`,
      cart,
      outOfService,
      exempt,
      note,
      kind,
      meter,
      nowMs,
    )
    return null
  },
  {
    // always an update, even if the cart had no note before
    audit: (connection, input, origin) => {
      const end = changed<typeof input>(cartNoteTable, ({ cart }) => cart)(connection, input, origin)
      const endEntry = input.entry && saveServiceEntry.audit?.(connection, input.entry, origin)
      return () => [
        ...end(null).map((entry) => ({ ...entry, action: 'cart.updated' as const })),
        ...(endEntry?.(null) ?? []),
      ]
    },
  },
)
