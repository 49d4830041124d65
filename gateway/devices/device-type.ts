/** What a kind of device is. Kinds are data: adding one is adding a record of this shape. */
export interface DeviceType {
  name: string
  description: string
}
