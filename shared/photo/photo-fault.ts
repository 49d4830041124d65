/** Why an image cannot be taken; the message is for people. */
export class PhotoFault extends Error {
  /** It is an image, of more pixels than are taken. */
  readonly isTooLarge: boolean

  constructor(message: string, { isTooLarge = false } = {}) {
    super(message)
    this.name = 'PhotoFault'
    this.isTooLarge = isTooLarge
  }
}
