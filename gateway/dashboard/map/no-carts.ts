import { signal } from '@preact/signals-core'
import type { MapFleet } from './course-map.ts'

/** Empty fleet for a map of the past, which must not show the present positions. */
export const NO_CARTS: MapFleet = { version: signal(0), carts: new Map() }
