import { cartcaddie } from './cartcaddie.ts'
import type { DeviceType } from './device-type.ts'
import { teebox } from './teebox.ts'

export const deviceTypes: readonly DeviceType[] = [teebox, cartcaddie]
