import { signal } from '@preact/signals-core'
import type { MapFleet } from './course-map.ts'

/** For a map of what was: where the carts are now is no part of it. */
export const NO_CARTS: MapFleet = { version: signal(0), carts: new Map() }
