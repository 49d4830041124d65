import { changed, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { type SavedCartNote, saveCartNote } from './cart-notes.ts'
import { type Publication, storePublication } from './device-configs.ts'
import {
  createDevice,
  type DeviceChange,
  type DeviceRow,
  deviceTable,
  type NewDevice,
  updateDevice,
} from './devices.ts'

export interface ImportedDevices {
  created: readonly Omit<NewDevice, 'publication'>[]
  updated: readonly Omit<DeviceChange, 'publication'>[]
  /** Notes on carts that get another kind. */
  notes: readonly SavedCartNote[]
  /** Resulting configuration of the devices. */
  publication: Publication
}

const NOTHING_PUBLISHED: Publication = { version: null, sessionChanges: [] }

/** Registers and changes devices, all or none of them. Returns the rows in the order of the input, new ones first. */
export const importDevices = write(
  (connection: Connection, { created, updated, notes, publication }: ImportedDevices): DeviceRow[] => {
    const rows = created.map((one) => createDevice(connection, { ...one, publication: NOTHING_PUBLISHED }))
    for (const change of updated) rows.push(updateDevice(connection, change))
    for (const note of notes) saveCartNote(connection, note)
    storePublication(connection, publication)
    return rows
  },
  {
    audit: (connection, { created, updated, notes }, origin) => {
      const device = changed<{ hardwareId: string }>(deviceTable, ({ hardwareId }) => hardwareId)
      const ends = [...created, ...updated].map((one) => device(connection, one, origin))
      const noteEnds = notes.map((note) => saveCartNote.audit?.(connection, note, origin))
      return () => [...ends.flatMap((end) => end(null)), ...noteEnds.flatMap((end) => end?.(null) ?? [])]
    },
  },
)
