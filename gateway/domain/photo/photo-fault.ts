/** Why an image cannot be taken; the message is for people. */
export class PhotoFault extends Error {}
