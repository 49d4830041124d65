import { LOW_BATTERY, NOT_CHARGING } from './battery-rules.ts'
import { OPEN_AFTER_CLOSING, OUT_AFTER_CLOSING } from './closing-rules.ts'
import { DEVICE_CLOCK, DEVICE_TWICE } from './device-rules.ts'
import { MOVED_AFTER_HOURS, MOVED_WHILE_LOCKED } from './movement-rules.ts'
import type { CartRule } from './rule.ts'
import { SILENT_ON_COURSE } from './silence-rule.ts'
import { OUTSIDE, ZONE_STAY } from './zone-rules.ts'

/** All rules of carts. */
export const CART_RULES: readonly CartRule[] = [
  LOW_BATTERY,
  OUTSIDE,
  ZONE_STAY,
  MOVED_WHILE_LOCKED,
  MOVED_AFTER_HOURS,
  SILENT_ON_COURSE,
  OPEN_AFTER_CLOSING,
  OUT_AFTER_CLOSING,
  NOT_CHARGING,
  DEVICE_TWICE,
  DEVICE_CLOCK,
]
