/** Reason for which an image is rejected; the message is for users. */
export class PhotoFault extends Error {
  /** True for an image with too many pixels. */
  readonly isTooLarge: boolean

  constructor(message: string, { isTooLarge = false } = {}) {
    super(message)
    this.name = 'PhotoFault'
    this.isTooLarge = isTooLarge
  }
}
