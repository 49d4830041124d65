/** A person who works with a key of the API; counts what it was used for. */
export class StaffKey {
  readonly userId: string
  readonly key: string
  /** Times of its requests. */
  readonly calls: number[] = []

  constructor(userId: string, key: string) {
    this.userId = userId
    this.key = key
  }
}
